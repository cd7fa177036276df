"""Finds nodes that cannot be in one stage below a threshold, and what that adds to the stages."""

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.problems.arrays import IntArray

Bits = npt.NDArray[np.uint64]

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_BITS = types.Array(types.uint64, 2, "C")
_PAIRS = types.Tuple((_VECTOR, _VECTOR, _INT))  # type: ignore[no-untyped-call]

# Above any cost.
LARGEST = 2**62


@njit([_BITS(_INPUT, _INPUT, _INPUT)], cache=True, nogil=True)
def reached(order: IntArray, start: IntArray, neighbours: IntArray) -> Bits:
    """Return, for each node, the nodes that its neighbours lead to and itself, a bit for each.

    Parameters
    ----------
    order
        All nodes, each after its neighbours.
    start, neighbours
        Those of node v are ``neighbours[start[v] : start[v + 1]]``.
    """
    sets = np.zeros((len(order), (len(order) + 63) // 64), dtype=np.uint64)
    for v in order:
        sets[v, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
        for edge in range(start[v], start[v + 1]):
            for word in range(sets.shape[1]):
                sets[v, word] |= sets[neighbours[edge], word]
    return sets


@njit([types.boolean(_BITS, _INT, _INT)], cache=True, nogil=True)
def _has(sets: Bits, u: int, v: int) -> bool:
    """Whether v is in the set of u."""
    return bool((sets[u, v >> 6] >> np.uint64(v & 63)) & np.uint64(1))


@njit([_INT(types.uint64)], cache=True, nogil=True)
def _position(bit: np.uint64) -> int:
    """Return the position of the only bit that is set."""
    position, shift = 0, 32
    while shift:
        if bit >> np.uint64(shift):
            bit >>= np.uint64(shift)
            position += shift
        shift >>= 1
    return position


@njit([_VECTOR(_BITS, _BITS, _INPUT, _INPUT)], cache=True, nogil=True)
def nodes_between(before: Bits, after: Bits, first: IntArray, last: IntArray) -> IntArray:
    """Return how many nodes are on paths from ``first[i]`` to ``last[i]``, ends included."""
    counts = np.zeros(len(first), dtype=np.int64)
    for i in range(len(first)):
        for word in range(before.shape[1]):
            rest = after[first[i], word] & before[last[i], word]
            while rest:
                rest &= rest - np.uint64(1)
                counts[i] += 1
    return counts


@njit([_INT(_BITS, _BITS, _INT, _INT, _VECTOR, _INPUT, _INT, _INT)], cache=True, nogil=True)
def _least_cost(
    before: Bits,
    after: Bits,
    first: int,
    last: int,
    work: IntArray,
    load: IntArray,
    cache: int,
    enough: int,
) -> int:
    """Return what a stage with two nodes costs at least, or some part of it above `enough`."""
    demand, streamed = 0, -cache
    for word in range(before.shape[1]):
        rest = after[first, word] & before[last, word]
        while rest:
            bit = rest & (~rest + np.uint64(1))
            node = 64 * word + _position(bit)
            demand += work[node]
            streamed += load[node]
            rest ^= bit
        if demand + max(0, streamed) > enough:
            break
    return demand + max(0, streamed)


@njit(
    [_PAIRS(_INT, _BITS, _BITS, _INPUT, _INPUT, _INPUT, _VECTOR, _INPUT, _INPUT, _INT)],
    cache=True,
    nogil=True,
)
def separate(
    threshold: int,
    before: Bits,
    after: Bits,
    producer: IntArray,
    consumer: IntArray,
    nearest: IntArray,
    work: IntArray,
    transfer: IntArray,
    load: IntArray,
    cache: int,
) -> tuple[IntArray, IntArray, int]:
    """Find pairs of nodes that no stage of a threshold's cost holds both of; change `work`.

    A tensor with its producer at or before the first node of a pair and a consumer at or after
    the second leaves one stage and enters another. Its transfer is added to the work of both ends,
    which can make stages of other pairs too expensive.

    Parameters
    ----------
    threshold
        What stages cost at most.
    before, after
        Sets of bits: what each node depends on, and what depends on it, itself included.
    producer, consumer
        The ends of each edge, sorted.
    nearest
        The edges, fewest nodes between their ends first.
    work, transfer, load, cache
        Costs of the nodes; ``work`` is what remains to be done within stages, and grows.

    Returns
    -------
    IntArray, IntArray, int
        First and last nodes of the pairs, in the order in which they were found, and the largest
        threshold at which each of them still follows from those before it.
    """
    first = np.empty(len(producer), dtype=np.int64)
    last = np.empty(len(producer), dtype=np.int64)
    pairs, holds_up_to = 0, LARGEST
    is_moved = transfer == 0
    grows = True
    while grows:
        grows = False
        for edge in nearest:
            a, b = producer[edge], consumer[edge]
            if is_moved[a]:
                continue
            if _least_cost(before, after, a, b, work, load, cache, threshold) <= threshold:
                continue
            whole = _least_cost(before, after, a, b, work, load, cache, LARGEST)
            holds_up_to = min(holds_up_to, whole - 1)
            first[pairs], last[pairs] = a, b
            pairs += 1
            grows = True
            for other in range(len(producer)):
                u, w = producer[other], consumer[other]
                if not is_moved[u] and _has(before, a, u) and _has(after, b, w):
                    is_moved[u] = True
                    work[u] += transfer[u]
                    work[w] += transfer[u]
    return first[:pairs].copy(), last[:pairs].copy(), holds_up_to
