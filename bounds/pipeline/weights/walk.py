"""Compiled walks among sets that may be a stage, towards heavy ones that cost at most a limit.

`walk` puts the best node in or out in each step, by what it adds to the weight less a price of what
it adds to the cost; a node just moved waits. The price rises above the limit and falls below it.

`anneal` tries random nodes, and pairs of them, by the rule of [METROPOLIS53]. It tries hundreds of
moves in the time of one step, and finds heavier sets where transfers outweigh work; `walk` finds
heavier ones where work does.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.bounds.pipeline.weights.tensors import FIRST, LAST, BitSets, lowest
from boundmark.problems.arrays import IntArray

# ruff: noqa: NPY002 - numba's own generator, seeded by the caller.

Mask = npt.NDArray[np.bool_]
FloatVector = npt.NDArray[np.float64]


class WalkGraph(NamedTuple):
    """A graph, as walks use it.

    Attributes
    ----------
    before, after
        What each node depends on, and what depends on it, at any distance: bit sets, a row of words
        for each node.
    work, transfer
        Ticks, shape (n,).
    consumers
        Number of consumers of each node.
    in_start, producers
        Node v reads ``producers[in_start[v] : in_start[v + 1]]``.
    """

    before: BitSets
    after: BitSets
    work: IntArray
    transfer: IntArray
    consumers: IntArray
    in_start: IntArray
    producers: IntArray


class _Place(NamedTuple):
    """The set that a walk is at, and what is around it.

    Attributes
    ----------
    inside, bits
        The set, as a mask and as a bit set.
    read
        How many consumers of each node are inside.
    before, after
        The nodes before a member, and those after one, as bit sets.
    followed, preceded
        How many members each node is before, and how many it is after.
    """

    inside: Mask
    bits: BitSets
    read: IntArray
    before: BitSets
    after: BitSets
    followed: IntArray
    preceded: IntArray


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_BIT_ROWS = types.Array(types.uint64, 2, "C", readonly=True)
_BITS = types.Array(types.uint64, 1, "C")
_VECTOR = types.Array(types.int64, 1, "C")
_MASK = types.Array(types.boolean, 1, "C")
_FLOATS = types.Array(types.float64, 1, "C")
_FOUND = types.Array(types.boolean, 2, "C")
_GRAPH = types.NamedTuple([_BIT_ROWS] * 2 + [_INPUT] * 5, WalkGraph)  # type: ignore[no-untyped-call]
_PLACE = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_MASK, _BITS, _VECTOR, _BITS, _BITS, _VECTOR, _VECTOR], _Place
)
_ONE = np.uint64(1)


@njit([types.void(_BITS, _BIT_ROWS, _VECTOR, _INT, _INT)], cache=True, nogil=True)
def _count(bits: BitSets, rows: BitSets, counts: IntArray, v: int, more: int) -> None:
    """Count a node in or out for all nodes of its row; `bits` are those counted for any."""
    for j in range(len(bits)):
        rest = rows[v, j]
        while rest:
            u = (j << 6) + lowest(rest)
            low = rest & (~rest + _ONE)
            rest ^= low
            counts[u] += more
            if counts[u] == 0:
                bits[j] &= ~low
            else:
                bits[j] |= low


@njit([types.void(_INT, _INT, _GRAPH, _PLACE)], cache=True, nogil=True)
def _move(v: int, more: int, g: WalkGraph, at: _Place) -> None:
    """Put a node in, with `more` of 1, or take it out, with -1."""
    at.inside[v] = more > 0
    at.bits[v >> 6] ^= _ONE << np.uint64(v & 63)
    for i in range(g.in_start[v], g.in_start[v + 1]):
        at.read[g.producers[i]] += more
    _count(at.before, g.before, at.followed, v, more)
    _count(at.after, g.after, at.preceded, v, more)


@njit([_PLACE(_MASK, _GRAPH)], cache=True, nogil=True)
def _place(start: Mask, g: WalkGraph) -> _Place:
    """Return the place of a set."""
    n, words = g.before.shape
    at = _Place(
        np.zeros(n, np.bool_),
        np.zeros(words, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )
    for v in range(n):
        if start[v]:
            _move(v, 1, g, at)
    return at


@njit([_INT(_GRAPH, _PLACE)], cache=True, nogil=True)
def _cost(g: WalkGraph, at: _Place) -> int:
    """Return what the set costs without overflow."""
    cost = 0
    for v in range(len(at.inside)):
        if at.inside[v]:
            cost += g.work[v]
        if g.consumers[v] > at.read[v] if at.inside[v] else at.read[v] > 0:
            cost += g.transfer[v]
    return cost


@njit([_INT(_INT, _INT, _GRAPH, _PLACE)], cache=True, nogil=True)
def _added_cost(v: int, more: int, g: WalkGraph, at: _Place) -> int:
    """Return by how much the cost rises if a node enters, or leaves with `more` of -1."""
    read, inside, transfer = at.read, at.inside, g.transfer
    added: int = more * g.work[v]
    is_read, is_left = read[v] > 0, g.consumers[v] > read[v]
    if is_read != is_left:
        added += more * transfer[v] if is_left else -more * transfer[v]
    for i in range(g.in_start[v], g.in_start[v + 1]):
        u = g.producers[i]
        if inside[u]:
            if more > 0:
                added -= transfer[u] if read[u] + 1 == g.consumers[u] else 0
            else:
                added += transfer[u] if read[u] == g.consumers[u] else 0
        elif more > 0:
            added += transfer[u] if read[u] == 0 else 0
        else:
            added -= transfer[u] if read[u] == 1 else 0
    return added


@njit([types.boolean(_INT, _INT, _GRAPH, _PLACE)], cache=True, nogil=True)
def _can_move(v: int, position: int, g: WalkGraph, at: _Place) -> bool:
    """Whether the set may still be a stage at a position after a node has entered or left."""
    has_before, has_after, is_apart = False, False, False
    for j in range(len(at.bits)):
        has_before |= (g.before[v, j] & at.bits[j]) != 0
        has_after |= (g.after[v, j] & at.bits[j]) != 0
        if position != LAST:
            needed = g.before[v, j] if position == FIRST else at.after[j] & g.before[v, j]
            is_apart |= (needed & ~at.bits[j]) != 0
        if position != FIRST:
            needed = g.after[v, j] if position == LAST else at.before[j] & g.after[v, j]
            is_apart |= (needed & ~at.bits[j]) != 0
    is_between = (has_before or position == FIRST) and (has_after or position == LAST)
    return not (is_between if at.inside[v] else is_apart)


@njit([_INT(_MASK, _GRAPH, _FLOATS, *(_INT,) * 4, _FOUND)], cache=True, nogil=True)
def walk(
    start: Mask,
    g: WalkGraph,
    weights: FloatVector,
    limit: int,
    position: int,
    steps: int,
    seed: int,
    found: Mask,
) -> int:
    """Walk for a number of steps; return how many sets were found.

    Parameters
    ----------
    start
        A set that may be a stage at the position.
    weights
        Of nodes; a stage weighs about 1.
    position
        ANY, FIRST or LAST: whether sets are convex, hold all producers, or hold all consumers.
    found
        Filled with the sets that were heavier than all before; the last row with the heaviest, if
        there are more than rows.
    """
    np.random.seed(seed)
    n, at = len(start), _place(start, g)
    # The step until which a node waits.
    waits = np.zeros(n, np.int64)
    cost, heaviest, count = _cost(g, at), 0.0, 0
    weight = weights[start].sum()
    usual = 1.0 / max(1, limit)
    price = usual
    for step in range(steps):
        if cost <= limit and weight > heaviest * 1.000001:
            heaviest = weight
            count = min(count, len(found) - 1)
            found[count] = at.inside
            count += 1
        chosen, most, change = -1, -np.inf, 0
        for v in range(n):
            if not _can_move(v, position, g, at):
                continue
            # The sign is that of what leaves or enters the set.
            more = -1 if at.inside[v] else 1
            added = _added_cost(v, more, g, at)
            is_best = more > 0 and cost + added <= limit and weight + weights[v] > heaviest
            if waits[v] > step and not is_best:
                continue
            gain = more * weights[v] - price * added
            if gain > most:
                chosen, most, change = v, gain, added
        if chosen < 0:
            continue
        more = -1 if at.inside[chosen] else 1
        _move(chosen, more, g, at)
        weight += more * weights[chosen]
        cost += change
        waits[chosen] = step + 5 + int(np.random.random() * 15)
        price = min(max(price * 1.03 if cost > limit else price / 1.03, usual / 5), usual * 5)
    return count


@njit([_INT(_INT, types.boolean, _INT, _PLACE)], cache=True, nogil=True)
def _next(start: int, is_inside: bool, besides: int, at: _Place) -> int:
    """Return the first node inside, or outside, from a node on, around the end; -1 if none is."""
    n = len(at.inside)
    for step in range(n):
        v = start + step
        if v >= n:
            v -= n
        if at.inside[v] == is_inside and v != besides:
            return v
    return -1


@njit(
    [_INT(_MASK, _GRAPH, _FLOATS, *(_INT,) * 4, types.float64, _FOUND)],
    cache=True,
    nogil=True,
)
def anneal(
    start: Mask,
    g: WalkGraph,
    weights: FloatVector,
    limit: int,
    position: int,
    moves: int,
    seed: int,
    cold: float,
    found: Mask,
) -> int:
    """Cool down once; return how many sets were found.

    Parameters
    ----------
    start, weights, position, found
        As in `walk`.
    cold
        Temperature at the end, in mean weights of a node.
    """
    hot = 0.5
    # In weights of a stage, for each limit by which the cost exceeds the limit.
    penalty = 2.0
    # Part of the refused moves that are tried together with one in the other direction.
    paired = 0.4
    np.random.seed(seed)
    n, at = len(start), _place(start, g)
    cost, heaviest, count = _cost(g, at), 0.0, 0
    weight = weights[start].sum()
    price = penalty / max(1, limit)
    # Nodes may weigh nothing, at the beginning: those of a graph without work.
    temperature = max(hot * weights.mean(), 1e-12)
    cooling = (cold / hot) ** (1.0 / max(1, moves))
    for _ in range(moves):
        temperature *= cooling
        if cost <= limit and weight > heaviest * 1.000001:
            heaviest = weight
            count = min(count, len(found) - 1)
            found[count] = at.inside
            count += 1
        v = int(np.random.random() * n)
        if not _can_move(v, position, g, at):
            continue
        more = -1 if at.inside[v] else 1
        before, changed = max(0, cost - limit), cost + _added_cost(v, more, g, at)
        rise = price * (max(0, changed - limit) - before) - more * weights[v]
        is_accepted = rise <= 0 or np.random.random() < np.exp(-rise / temperature)
        if not is_accepted and np.random.random() >= paired:
            continue
        _move(v, more, g, at)
        gain = more * weights[v]
        if not is_accepted:
            # Another node goes the other way.
            other = _next(int(np.random.random() * n), more > 0, v, at)
            if other >= 0 and _can_move(other, position, g, at):
                changed += _added_cost(other, -more, g, at)
                gain -= more * weights[other]
                rise = price * (max(0, changed - limit) - before) - gain
                is_accepted = rise <= 0 or np.random.random() < np.exp(-rise / temperature)
            if not is_accepted:
                _move(v, -more, g, at)
                continue
            _move(other, -more, g, at)
        weight += gain
        cost = changed
    return count
