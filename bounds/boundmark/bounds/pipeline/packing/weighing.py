"""Finds weights: as much as possible in all, and at most 1 in each packing of a threshold.

A linear program with a row per packing, of which those are added that its solution violates. Between
the best weights so far and the solution, the search for such packings stays near the former (in-out
separation), which takes several times fewer rounds. Weights are as good as the sets that are known:
whether there are heavier ones is for `search` to tell.
"""

from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.pipeline.kernels import set_growth
from boundmark.bounds.pipeline.packing.master import FloatArray, Master, Packings
from boundmark.bounds.pipeline.packing.pool import Front, Packing, Pool
from boundmark.bounds.pipeline.packing.tensors import Tensors, bits_of, packed, unpacked
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget

# Weights are integers for all but the linear program; so much is 1.
WHOLE = 2**30

# Of the weights looked at, the part that is the best ones, and the rest the program's solution.
BEST_PART = 0.7

# Costs are counted in units, of which a stage has about so many.
UNITS = 2**11

# Rows added in a round.
MOST_ROWS = 30

# Sums that differ by so much of a stage are the same, or by such a part of what is beyond k.
PRECISION = 0.002
LOOSENESS = 0.1

# Prices of growth, as multiples of a stage's weight by a stage's cost, and its noise.
GROWTH_PRICES = (0.85, 1.0, 1.15)
GROWTH_NOISE = 0.15

# Sets in packings of this part of the heaviest one's weight are grown again.
NEARLY_TIGHT = 0.998

# How often sets grow once more before weights are believed to be the best.
LAST_GROWTHS = 5

# Sets that one growth may find.
MOST_GROWN = 5_000


@dataclass(frozen=True, eq=False)
class Weighing:
    """Weights for a threshold.

    Attributes
    ----------
    weights
        Of nodes, in parts of the heaviest packing known, shape (n,).
    lower
        Their sum.
    upper
        The most that any weights come to: if that is k or less, the threshold stands.
    """

    weights: FloatArray
    lower: float
    upper: float


@dataclass(eq=False)
class Weigher:
    """Finds weights for one graph at one threshold after the other.

    Attributes
    ----------
    pool
        The sets known.
    packings
        The packings known.
    """

    tensors: Tensors
    k: int
    seed: int = 0
    pool: Pool = field(default_factory=Pool)
    packings: Packings = field(default_factory=Packings)

    def __post_init__(self) -> None:
        self._graph = self.tensors.arrays()
        for v in range(self.tensors.nodes):
            self.pool.add(1 << v, self.tensors.cost(1 << v))

    def at(self, limit: int, start: FloatArray, budget: Budget) -> Weighing:
        """Find weights for sets that cost up to a limit together.

        Parameters
        ----------
        start
            Weights to begin with.
        """
        unit = max(1, limit // UNITS)
        units = limit // unit
        best, looked_at, upper = start, start, np.inf
        lower = _parts(best, self._front(best, unit, units))
        program = _Program(self, limit, unit, budget.threads)
        while not budget.is_spent():
            front = self._front(looked_at, unit, units)
            if front.packed[units] <= WHOLE and self.grow(looked_at, limit, unit):
                # The best weights may be worth less, now that there are other sets.
                lower = _parts(best, self._front(best, unit, units))
                front = self._front(looked_at, unit, units)
            total = _parts(looked_at, front)
            if total > lower:
                best, lower = looked_at * (total / looked_at.sum()), total
            program.add(front.packings(WHOLE, MOST_ROWS))
            solved = program.master.solve(budget.remaining())
            if solved is None:
                break
            solution, upper = solved
            if upper <= self.k:
                break
            precision = max(PRECISION, LOOSENESS * (upper - self.k))
            if lower >= upper - precision:
                added = sum(self.regrow(best, limit, unit) for _ in range(LAST_GROWTHS))
                lower = _parts(best, self._front(best, unit, units))
                if not added or lower >= upper - precision:
                    break
            looked_at = BEST_PART * best + (1 - BEST_PART) * solution
        return Weighing(best, lower, upper)

    def grow(self, weights: FloatArray, limit: int, unit: int) -> int:
        """Add heavy sets to the pool, grown from single nodes; return how many."""
        return self._grow([1 << v for v in range(self.tensors.nodes)], weights, limit, unit)

    def regrow(self, weights: FloatArray, limit: int, unit: int) -> int:
        """Add heavy sets to the pool, grown from parts of the heaviest; return how many."""
        front = self._front(weights, unit, limit // unit)
        tight = front.tight(int(NEARLY_TIGHT * front.most))
        return self._grow([self.pool.members[i] for i in tight], weights, limit, unit)

    def _grow(self, starts: list[int], weights: FloatArray, limit: int, unit: int) -> int:
        whole = integers(weights)
        front = np.maximum.accumulate(self._front(weights, unit, limit // unit).weights)
        words = self._graph.near.shape[1]
        found = np.zeros((MOST_GROWN, words), dtype=np.uint64)
        costs = np.zeros(MOST_GROWN, dtype=np.int64)
        added = 0
        for price in GROWTH_PRICES:
            self.seed += 1
            count = set_growth.grow(
                packed(starts, self.tensors.nodes),
                whole,
                price * WHOLE / max(1, limit),
                GROWTH_NOISE,
                self.seed % 2**31,
                unit,
                limit,
                self.tensors.graph.cache,
                self._graph,
                front,
                found,
                costs,
            )
            for row in range(count):
                added += self.pool.add(unpacked(found[row]), int(costs[row]))
        return added

    def _front(self, weights: FloatArray, unit: int, units: int) -> Front:
        return Front.of(self.pool, integers(weights), unit, units)


class _Program:
    """The linear program at one threshold, with limits that follow from single sets.

    A node weighs 1 at most if it is in some set, and nothing if it is in one of no unit.
    """

    def __init__(self, weigher: Weigher, limit: int, unit: int, threads: int) -> None:
        self.weigher, self.limit, self.unit = weigher, limit, unit
        nodes = weigher.tensors.nodes
        self.master = Master(np.full(nodes, weigher.k + 1.0), threads)
        self.looked_at = 0
        self.is_in_a_set = self.is_free = 0
        for row, cost in weigher.packings.costs.items():
            if cost <= limit:
                self.master.add(row)

    def add(self, packings: list[Packing]) -> None:
        """Add rows for packings, and limits for sets that are new."""
        weigher = self.weigher
        for packing in packings:
            self.master.add(weigher.packings.add(weigher.pool, packing))
        in_a_set, free = self.is_in_a_set, self.is_free
        for i in range(self.looked_at, len(weigher.pool.members)):
            if weigher.pool.costs[i] <= self.limit:
                in_a_set |= weigher.pool.members[i]
            if weigher.pool.costs[i] < self.unit:
                free |= weigher.pool.members[i]
        self.looked_at = len(weigher.pool.members)
        for v in bits_of(in_a_set & ~self.is_in_a_set):
            self.master.limit(v, 1.0)
        for v in bits_of(free & ~self.is_free):
            self.master.limit(v, 0.0)
        self.is_in_a_set, self.is_free = in_a_set, free


def _parts(weights: FloatArray, front: Front) -> float:
    """Return the sum of weights in parts of the heaviest packing."""
    return float(weights.sum()) * WHOLE / front.most


def integers(weights: FloatArray) -> IntArray:
    """Return weights in parts of `WHOLE`, rounded down."""
    result: IntArray = np.floor(weights * WHOLE).astype(np.int64)
    return result
