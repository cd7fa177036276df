"""Heuristic for heavy sets, grown node by node, and a knapsack over the heaviest of them.

A set grows by the neighbour that, with all nodes between it and the set, adds most weight less the
price of what it adds to the cost; a little noise makes repetitions differ.
"""

import numpy as np
from numba import njit, types

from boundmark.bounds.pipeline.weights.set_search import GRAPH, BitSets, TensorGraph, lowest
from boundmark.problems.arrays import IntArray

# ruff: noqa: NPY002 - numba's own generator, seeded by the caller.


_INT = types.int64
_FLOAT = types.float64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_WORDS = types.Array(types.uint64, 1, "C")
_BITS = types.Array(types.uint64, 2, "C")
_BIT_SETS = types.Array(types.uint64, 2, "C", readonly=True)
_ONE = np.uint64(1)


@njit([_INT(_WORDS, _WORDS, _INT, GRAPH)], cache=True, nogil=True)
def _cost(inside: BitSets, held: BitSets, cache: int, g: TensorGraph) -> int:
    """Return the cost of a set; `held` are the tensors with an end in it."""
    cost, load = 0, 0
    for word in range(len(inside)):
        rest = inside[word]
        while rest:
            v = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            cost += g.work[v]
            load += g.load[v]
        rest = held[word]
        while rest:
            u = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            for j in range(len(inside)):
                if g.ends[u, j] & ~inside[j]:
                    cost += g.transfer[u]
                    break
    return cost + max(0, load - cache)


@njit([_INT(_WORDS, _WORDS, _INPUT, GRAPH)], cache=True, nogil=True)
def _join(held: BitSets, nodes: BitSets, weights: IntArray, g: TensorGraph) -> int:
    """Add the tensors of nodes to those held; return the weight of the nodes."""
    weight = 0
    for word in range(len(nodes)):
        rest = nodes[word]
        while rest:
            v = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            weight += weights[v]
            for j in range(len(held)):
                held[j] |= g.held[v, j]
    return weight


@njit([_INT(_WORDS, GRAPH)], cache=True, nogil=True)
def _work(nodes: BitSets, g: TensorGraph) -> int:
    """Return the work of nodes."""
    work = 0
    for word in range(len(nodes)):
        rest = nodes[word]
        while rest:
            v = (word << 6) + lowest(rest)
            rest &= rest - _ONE
            work += g.work[v]
    return work


@njit([types.void(_WORDS, _INT, GRAPH)], cache=True, nogil=True)
def _strip(inside: BitSets, most: int, g: TensorGraph) -> None:
    """Remove up to a number of random nodes from a convex set that stays convex."""
    words = len(inside)
    for _ in range(most):
        chosen, count = -1, 0
        for word in range(words):
            rest = inside[word]
            while rest:
                v = (word << 6) + lowest(rest)
                rest &= rest - _ONE
                has_before, has_after = False, False
                for j in range(words):
                    has_before |= (inside[j] & g.before[v, j]) != 0
                    has_after |= (inside[j] & g.after[v, j]) != 0
                if has_before and has_after:
                    continue
                count += 1
                if np.random.random() * count < 1.0:
                    chosen = v
        if count < 2:
            return
        inside[chosen >> 6] &= ~(_ONE << np.uint64(chosen & 63))


@njit(
    [_INT(_BIT_SETS, _INPUT, _FLOAT, _FLOAT, *(_INT,) * 4, GRAPH, _VECTOR, _BITS, _VECTOR)],
    cache=True,
    nogil=True,
)
def grow(
    starts: BitSets,
    weights: IntArray,
    price: float,
    noise: float,
    seed: int,
    unit: int,
    limit: int,
    cache: int,
    g: TensorGraph,
    front: IntArray,
    found: BitSets,
    found_cost: IntArray,
) -> int:
    """Grow sets up to a cost limit, each from a start that random nodes were removed from.

    Parameters
    ----------
    starts
        Convex sets; at least one node stays of each.
    price
        Of a tick, in weight.
    noise
        Largest part of a gain in weight that is added to it at random.
    front
        Heaviest weight known up to each unit of cost; raised by what is found.
    found, found_cost
        Filled with the sets above the front, and what they cost.

    Returns
    -------
    How many were found; no more than there is room for.
    """
    np.random.seed(seed)
    words = found.shape[1]
    inside, before, after, held, near, joined, all_held, all_inside = (
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
    )
    count = 0
    for start in range(len(starts)):
        inside[:] = starts[start]
        size = 0
        for word in range(words):
            rest = inside[word]
            while rest:
                size += 1
                rest &= rest - _ONE
        _strip(inside, int(size * np.random.random()), g)
        before[:] = 0
        after[:] = 0
        near[:] = 0
        held[:] = 0
        for word in range(words):
            rest = inside[word]
            while rest:
                v = (word << 6) + lowest(rest)
                rest &= rest - _ONE
                for j in range(words):
                    before[j] |= g.before[v, j]
                    after[j] |= g.after[v, j]
                    near[j] |= g.near[v, j]
        for j in range(words):
            near[j] &= ~inside[j]
        weight, work = _join(held, inside, weights, g), _work(inside, g)
        cost = _cost(inside, held, cache, g)
        while work <= limit:
            if cost <= limit and weight > front[cost // unit] and count < len(found_cost):
                found[count] = inside
                found_cost[count] = cost
                count += 1
                i = cost // unit
                while i < len(front) and front[i] < weight:
                    front[i] = weight
                    i += 1
            best, best_gain, best_cost = -1, -np.inf, 0
            for word in range(words):
                rest = near[word]
                while rest:
                    v = (word << 6) + lowest(rest)
                    rest &= rest - _ONE
                    for j in range(words):
                        joined[j] = (
                            (before[j] | g.before[v, j]) & (after[j] | g.after[v, j]) & ~inside[j]
                        )
                        all_held[j] = held[j]
                    joined[v >> 6] |= _ONE << np.uint64(v & 63)
                    for j in range(words):
                        all_inside[j] = inside[j] | joined[j]
                    if _work(joined, g) > limit - work:
                        continue
                    more = _join(all_held, joined, weights, g)
                    new_cost = _cost(all_inside, all_held, cache, g)
                    gain = more * (1.0 + noise * np.random.random()) - price * (new_cost - cost)
                    if gain > best_gain:
                        best, best_gain, best_cost = v, gain, new_cost
            if best < 0:
                break
            for j in range(words):
                before[j] |= g.before[best, j]
                after[j] |= g.after[best, j]
                joined[j] = before[j] & after[j] & ~inside[j]
            joined[best >> 6] |= _ONE << np.uint64(best & 63)
            for word in range(words):
                rest = joined[word]
                while rest:
                    v = (word << 6) + lowest(rest)
                    rest &= rest - _ONE
                    work += g.work[v]
                    for j in range(words):
                        near[j] |= g.near[v, j]
            weight += _join(held, joined, weights, g)
            cost = best_cost
            for j in range(words):
                inside[j] |= joined[j]
            for j in range(words):
                near[j] &= ~inside[j]
    return count


@njit([types.void(_INPUT, _INPUT, _VECTOR, _VECTOR)], cache=True, nogil=True)
def heaviest_by_unit(
    units: IntArray, weights: IntArray, front: IntArray, heaviest: IntArray
) -> None:
    """Find the heaviest set for each cost in units: its weight and number; 0 and -1 if none.

    Parameters
    ----------
    units, weights
        Of each set; those beyond the end of the front do not count.
    """
    front[:] = 0
    heaviest[:] = -1
    for i in range(len(units)):
        if units[i] < len(front) and weights[i] > front[units[i]]:
            front[units[i]] = weights[i]
            heaviest[units[i]] = i


@njit([types.void(_VECTOR, _VECTOR, _VECTOR)], cache=True, nogil=True)
def pack(front: IntArray, best: IntArray, last: IntArray) -> None:
    """Find the heaviest packings: an unbounded knapsack.

    Sets of more than half the units are in a packing once at most. They are considered for the
    packing of all units, and not for smaller ones.

    Parameters
    ----------
    front
        What a set of so many units weighs.
    best, last
        Filled with the most that sets of so many units together weigh, and the units of one of
        those, 0 if fewer units do.
    """
    items = np.empty(len(front), np.int64)
    count, top = 0, 0
    units = len(front) - 1
    best[0], last[0] = 0, 0
    for room in range(1, units + 1):
        if front[room] > top and 2 * room <= units:
            top = front[room]
            items[count] = room
            count += 1
        best[room], last[room] = best[room - 1], 0
        for i in range(count):
            weight = best[room - items[i]] + front[items[i]]
            if weight > best[room]:
                best[room], last[room] = weight, items[i]
    for large in range(units // 2 + 1, units + 1):
        if front[large] > 0 and front[large] + best[units - large] > best[units]:
            best[units], last[units] = front[large] + best[units - large], large
