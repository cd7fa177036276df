"""Compiled walk among sets that may be a stage, towards heavy ones that cost at most a limit.

Each step puts the best node in or out, by what it adds to the weight less a price of what it adds
to the cost; a node just moved waits. The price rises above the limit and falls below it.
"""

import numpy as np
from numba import njit, types

from boundmark.bounds.pipeline.packing.set_search import BitSets
from boundmark.bounds.pipeline.packing.tensors import FIRST, LAST
from boundmark.problems.arrays import IntArray

# ruff: noqa: NPY002 - numba's own generator, seeded by the caller.

_INT = types.int64
_FLOAT = types.float64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_BITS = types.Array(types.uint64, 2, "C", readonly=True)
_ONE = np.uint64(1)


@njit(
    [
        _INT(
            types.Array(types.boolean, 1, "C"),
            *(_BITS,) * 2,
            *(_INPUT,) * 5,
            types.Array(types.float64, 1, "C"),
            *(_INT,) * 4,
            types.Array(types.boolean, 2, "C"),
        )
    ],
    cache=True,
    nogil=True,
)
def walk(
    start: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    rows_before: BitSets,
    rows_after: BitSets,
    work: IntArray,
    transfer: IntArray,
    consumers: IntArray,
    in_start: IntArray,
    producers: IntArray,
    weights: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    limit: int,
    position: int,
    steps: int,
    seed: int,
    found: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]",
) -> int:
    """Walk for a number of steps; return how many sets were found, each heavier than the last.

    Parameters
    ----------
    start
        A set that may be a stage at the position.
    consumers
        Number of consumers of each node.
    in_start, producers
        Node v reads ``producers[in_start[v] : in_start[v + 1]]``.
    weights
        Of nodes; a stage weighs about 1.
    position
        ANY, FIRST or LAST: whether sets are convex, hold all producers, or hold all consumers.
    found
        Filled with the sets; the last row with the heaviest, if there are more than rows.
    """
    np.random.seed(seed)
    n, words = rows_before.shape
    inside, bits = start.copy(), np.zeros(words, np.uint64)
    before, after = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    # Consumers of each node that are inside, and the step until which a node waits.
    read, waits = np.zeros(n, np.int64), np.zeros(n, np.int64)
    cost, weight, heaviest, count = 0, 0.0, 0.0, 0
    for v in range(n):
        if inside[v]:
            bits[v >> 6] |= _ONE << np.uint64(v & 63)
            weight += weights[v]
            cost += work[v]
            for i in range(in_start[v], in_start[v + 1]):
                read[producers[i]] += 1
    for u in range(n):
        if consumers[u] > read[u] if inside[u] else read[u] > 0:
            cost += transfer[u]
    usual = 1.0 / max(1, limit)
    price = usual
    for step in range(steps):
        if cost <= limit and weight > heaviest * 1.000001:
            heaviest = weight
            count = min(count, len(found) - 1)
            found[count] = inside
            count += 1
        before[:] = 0
        after[:] = 0
        for v in range(n):
            if inside[v]:
                for j in range(words):
                    before[j] |= rows_before[v, j]
                    after[j] |= rows_after[v, j]
        chosen, most, change = -1, -np.inf, 0
        for v in range(n):
            has_before, has_after, is_apart = False, False, False
            for j in range(words):
                has_before |= (rows_before[v, j] & bits[j]) != 0
                has_after |= (rows_after[v, j] & bits[j]) != 0
                if position != LAST:
                    needed = (
                        rows_before[v, j] if position == FIRST else after[j] & rows_before[v, j]
                    )
                    is_apart |= (needed & ~bits[j]) != 0
                if position != FIRST:
                    needed = rows_after[v, j] & (~bits[j] if position == LAST else before[j])
                    is_apart |= (needed & ~bits[j]) != 0
            is_between = (has_before or position == FIRST) and (has_after or position == LAST)
            if is_between if inside[v] else is_apart:
                continue
            # The sign is that of what leaves or enters the set.
            more = -1 if inside[v] else 1
            added = more * work[v]
            is_read, is_left = read[v] > 0, consumers[v] > read[v]
            if is_read != is_left:
                added += more * transfer[v] if is_left else -more * transfer[v]
            for i in range(in_start[v], in_start[v + 1]):
                u = producers[i]
                if inside[u]:
                    if more > 0:
                        added -= transfer[u] if read[u] + 1 == consumers[u] else 0
                    else:
                        added += transfer[u] if read[u] == consumers[u] else 0
                elif more > 0:
                    added += transfer[u] if read[u] == 0 else 0
                else:
                    added -= transfer[u] if read[u] == 1 else 0
            is_best = more > 0 and cost + added <= limit and weight + weights[v] > heaviest
            if waits[v] > step and not is_best:
                continue
            gain = more * weights[v] - price * added
            if gain > most:
                chosen, most, change = v, gain, added
        if chosen < 0:
            continue
        more = -1 if inside[chosen] else 1
        inside[chosen] = more > 0
        bits[chosen >> 6] ^= _ONE << np.uint64(chosen & 63)
        weight += more * weights[chosen]
        cost += change
        for i in range(in_start[chosen], in_start[chosen + 1]):
            read[producers[i]] += more
        waits[chosen] = step + 5 + int(np.random.random() * 15)
        price = min(max(price * 1.03 if cost > limit else price / 1.03, usual / 5), usual * 5)
    return count
