"""The pool of known sets of nodes, the heaviest packings of them, and a heuristic that grows more.

A set grows by the neighbour that, with all nodes between it and the set, adds most weight less the
price of what it adds to the cost; a little noise makes repetitions differ.
"""

from dataclasses import dataclass, field

import numpy as np
from numba import types

from boundmark.bounds.checker.pipeline.limits import MOST_PACKING_UNITS
from boundmark.bounds.pipeline.weights.tensors import (
    GRAPH,
    BitSets,
    TensorGraph,
    bits_of,
    lowest,
)
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, internal

# ruff: noqa: NPY002 - numba's own generator, seeded by the caller.

# A multiset of sets, by their numbers in the pool.
Packing = list[int]


def unit_of(limit: int) -> int:
    """Return the ticks of a unit of cost, for at most the checker's number of units."""
    return limit // MOST_PACKING_UNITS + 1


@dataclass
class Pool:
    """Connected convex sets of one graph, without repetition.

    Attributes
    ----------
    members
        Bit sets.
    costs
        What they cost as stages.
    """

    members: list[int] = field(default_factory=list)
    costs: list[int] = field(default_factory=list)
    _number: dict[int, int] = field(default_factory=dict)
    _nodes: list[int] = field(default_factory=list)
    _start: list[int] = field(default_factory=list)
    _arrays: tuple[IntArray, IntArray, IntArray] | None = None

    def add(self, members: int, cost: int) -> bool:
        """Add a set; return False if it is known."""
        if members in self._number:
            return False
        self._number[members] = len(self.members)
        self.members.append(members)
        self.costs.append(cost)
        self._start.append(len(self._nodes))
        self._nodes += bits_of(members)
        self._arrays = None
        return True

    def number(self, members: int) -> int:
        """Return the number of a set of the pool."""
        return self._number[members]

    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the costs; the nodes of all sets, one set after the other; where each begins."""
        if self._arrays is None:
            self._arrays = frozen(self.costs), frozen(self._nodes), frozen(self._start)
        return self._arrays

    def weights(self, weights: IntArray) -> IntArray:
        """Return the weight of each set, given the nodes' weights."""
        _, nodes, start = self.arrays()
        return np.add.reduceat(weights[nodes], start)


@dataclass(frozen=True, eq=False)
class Front:
    """The heaviest known sets and packings of them, by units of cost.

    Attributes
    ----------
    weights
        What the heaviest set of exactly so many units weighs.
    heaviest
        Which set of the pool that is, or -1.
    packed
        What the heaviest packing of at most so many units weighs.
    last
        Units of one of its sets, or 0 if it has fewer units.
    """

    weights: IntArray
    heaviest: IntArray
    packed: IntArray
    last: IntArray

    @classmethod
    def of(cls, pool: Pool, weights: IntArray, unit: int, units: int) -> "Front":
        """Compute the heaviest packings of a pool's sets."""
        front, heaviest, packed, last = (np.zeros(units + 1, dtype=np.int64) for _ in range(4))
        costs = frozen(pool.arrays()[0] // unit)
        heaviest_by_unit(costs, frozen(pool.weights(weights)), front, heaviest)
        pack(front, packed, last)
        return cls(front, heaviest, packed, last)

    @property
    def most(self) -> int:
        """The weight of the heaviest packing, at least 1."""
        return max(1, int(self.packed[-1]))

    def packing(self, units: int) -> Packing:
        """Return the heaviest packing that costs at most a number of units."""
        result = []
        while units:
            used = int(self.last[units])
            if used:
                result.append(int(self.heaviest[used]))
            units -= max(1, used)
        return result

    def tight(self, least: int) -> Packing:
        """Return the sets, one for each cost, in packings of at least a given weight."""
        return self.heaviest[self._together() >= least].tolist()  # type: ignore[no-any-return]

    def packings(self, more_than: int, most: int) -> list[Packing]:
        """Return packings heavier than a limit, each the heaviest with some set, best first."""
        together = self._together()
        above = np.flatnonzero(together > more_than)
        best = above[np.argsort(-together[above], kind="stable")][:most]
        whole = len(self.weights) - 1
        return [[int(self.heaviest[i]), *self.packing(whole - i)] for i in best.tolist()]

    def _together(self) -> IntArray:
        """Return the weight of each set with the heaviest packing beside it, -1 for no set."""
        is_set = self.weights > 0
        # Sets that cost less than a unit could be packed any number of times.
        is_set[0] = False
        return np.where(is_set, self.weights + self.packed[::-1], -1)


_INT = types.int64
_FLOAT = types.float64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_WORDS = types.Array(types.uint64, 1, "C")
_BITS = types.Array(types.uint64, 2, "C")
_BIT_SETS = types.Array(types.uint64, 2, "C", readonly=True)
_ONE = np.uint64(1)


@internal([_INT(_WORDS, _WORDS, _INT, GRAPH)])
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


@internal([_INT(_WORDS, _WORDS, _INPUT, GRAPH)])
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


@internal([_INT(_WORDS, GRAPH)])
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


@internal([types.void(_WORDS, _INT, GRAPH)])
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


@compiled([_INT(_BIT_SETS, _INPUT, _FLOAT, _FLOAT, *(_INT,) * 4, GRAPH, _VECTOR, _BITS, _VECTOR)])
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
    """Grow sets up to a cost limit, each from a start that random nodes were removed from."""
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


@compiled([types.void(_INPUT, _INPUT, _VECTOR, _VECTOR)])
def heaviest_by_unit(
    units: IntArray, weights: IntArray, front: IntArray, heaviest: IntArray
) -> None:
    """Find the heaviest set for each cost in units: its weight and number; 0 and -1 if none."""
    front[:] = 0
    heaviest[:] = -1
    for i in range(len(units)):
        if units[i] < len(front) and weights[i] > front[units[i]]:
            front[units[i]] = weights[i]
            heaviest[units[i]] = i


@compiled([types.void(_VECTOR, _VECTOR, _VECTOR)])
def pack(front: IntArray, best: IntArray, last: IntArray) -> None:
    """Find the heaviest packings: an unbounded knapsack.

    Sets of more than half the units are in a packing once at most. They are considered for the
    packing of all units, and not for smaller ones.
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
