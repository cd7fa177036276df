"""Search for node weights: the largest sum such that each packing weighs at most 1.

A linear program with a row per packing, of which those are added that its solution violates.
Between the best weights so far and the solution, the search for such packings stays near the former
(in-out separation), which takes several times fewer rounds. Weights are as good as the sets that
are known: whether there are heavier ones is for `search` to tell.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import eye_array

from boundmark.bounds.mip.highs import LinearProgram
from boundmark.bounds.pipeline.weights.pool import Front, Packing, Pool, grow, unit_of
from boundmark.bounds.pipeline.weights.set_weights import Weighing
from boundmark.bounds.pipeline.weights.tensors import (
    FloatArray,
    Tensors,
    bits_of,
    members_where,
    packed,
    unpacked,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition
from boundmark.problems.pipeline.graph import PipelineGraph

# How often each node is in a packing, by node.
Row = tuple[tuple[int, int], ...]

# Difference of sums of weights, in stages, that makes no difference.
PRECISION = 0.002

# The largest sum of prices of all costs, or of all weights: both stay within 64 bits.
LARGEST_SUM = 2**59


@dataclass
class Packings:
    """Packings of sets, each with the least cost known.

    They are rows of the program at every threshold that is not below their cost.
    """

    costs: dict[Row, int] = field(default_factory=dict)

    def add(self, pool: Pool, packing: Packing) -> Row:
        """Add a packing; return how often each node is in it."""
        times: Counter[int] = Counter()
        for i in packing:
            times.update(bits_of(pool.members[i]))
        row = tuple(sorted(times.items()))
        cost = sum(pool.costs[i] for i in packing)
        self.costs[row] = min(cost, self.costs.get(row, cost))
        return row


@dataclass(eq=False)
class Weigher:
    """Search for weights of one graph, threshold after threshold.

    Attributes
    ----------
    whole
        What a stage may weigh, in integers.
    looseness
        The search ends when its bounds differ by less than this part of what the upper one exceeds
        k by, or by less than the precision.
    effort_at_a_time
        Number of starts between two looks at the clock, times the square of the number of nodes:
        growing from one start takes 15 ms on 1,800 nodes.
    pool
        The sets known.
    packings
        The packings known.
    most_columns
        Packings for each node beyond which idle ones leave the program, see `Master`.
    """

    tensors: Tensors
    k: int
    whole: int
    seed: int = 0
    looseness: float = 0.1
    effort_at_a_time: int = 2**23
    pool: Pool = field(default_factory=Pool)
    packings: Packings = field(default_factory=Packings)
    most_columns: float = 10.0

    def __post_init__(self) -> None:
        self._graph = self.tensors.arrays()
        for v in range(self.tensors.nodes):
            self.pool.add(1 << v, self.tensors.cost(1 << v))

    def learn(self, partition: Partition) -> None:
        """Add the connected parts of a partition's stages to the pool."""
        for stage in range(int(partition.stages.max()) + 1):
            members = members_where(partition.stages == stage)
            for part in self.tensors.parts(members):
                self.pool.add(part, self.tensors.cost(part))

    def learn_sets(self, sets: Iterable[int]) -> None:
        """Add the connected parts of sets to the pool, and each set's parts as a packing."""
        for members in sets:
            parts = list(self.tensors.parts(members))
            for part in parts:
                self.pool.add(part, self.tensors.cost(part))
            self.packings.add(self.pool, [self.pool.number(part) for part in parts])

    def heaviest_sets(self, weights: FloatArray, limit: int) -> list[int]:
        """Return the packings known that are convex sets within a limit, heaviest first."""
        found = []
        for row, cost in self.packings.costs.items():
            nodes = [v for v, times in row if times == 1]
            members = sum(1 << v for v in nodes)
            if cost <= limit and len(nodes) == len(row) and self.tensors.is_convex(members):
                found.append((float(weights[nodes].sum()), members))
        return [members for _, members in sorted(found, reverse=True)]

    def at(
        self, limit: int, start: FloatArray, budget: Budget, precision: float = PRECISION
    ) -> Weighing:
        """Find weights for packings that cost at most a limit."""
        # About 2^11 units: more are more exact and slower. A multiple of the proofs' unit, so that
        # their packings are packings here, too.
        unit = unit_of(limit) * max(1, limit // (unit_of(limit) * 2**11))
        # Packings added in a round, at most; and the weight of the best solution so far in the
        # point that is separated, of which the rest is the program's solution.
        most_rows, best_part = 30, 0.7
        program = _Program(self, limit, unit, budget.threads)
        best, upper = start, np.inf
        looked_at, lower = program.allowed(best), 0.0
        while not budget.is_spent():
            front = self._front(looked_at, unit, limit)
            if front.packed[-1] <= self.whole and self.grow(looked_at, limit, unit, budget):
                # New sets may lower the value of the weights.
                best, looked_at = program.allowed(best), program.allowed(looked_at)
                best, lower = self._scaled(best, self._front(best, unit, limit))
                front = self._front(looked_at, unit, limit)
            scaled, total = self._scaled(looked_at, front)
            if total > lower:
                best, lower = scaled, total
            program.add(front.packings(self.whole, most_rows))
            solved = program.master.solve(budget.remaining())
            if solved is None:
                break
            solution, upper = solved
            program.master.drop_idle()
            is_close = lower >= upper - max(precision, self.looseness * (upper - self.k))
            if upper <= self.k or (is_close and not self._found_heavier(best, limit, unit, budget)):
                break
            best = program.allowed(best)
            best, lower = self._scaled(best, self._front(best, unit, limit))
            looked_at = program.allowed(best_part * best + (1 - best_part) * solution)
        return Weighing(best, lower, upper)

    def _found_heavier(self, weights: FloatArray, limit: int, unit: int, budget: Budget) -> bool:
        """Grow sets from parts of the heaviest; return whether a heavier packing was found."""
        most = self._front(weights, unit, limit).most
        for _ in range(5):
            if budget.is_spent():
                break
            self.regrow(weights, limit, unit, budget)
        return self._front(weights, unit, limit).most > most

    def grow(self, weights: FloatArray, limit: int, unit: int, budget: Budget) -> int:
        """Add heavy sets to the pool, grown from single nodes; return how many."""
        return self._grow([1 << v for v in range(self.tensors.nodes)], weights, limit, unit, budget)

    def regrow(self, weights: FloatArray, limit: int, unit: int, budget: Budget) -> int:
        """Add heavy sets to the pool, grown from parts of the heaviest; return how many."""
        front = self._front(weights, unit, limit)
        tight = front.tight(int(0.998 * front.most))
        starts = [self.pool.members[i] for i in tight]
        return self._grow(starts, weights, limit, unit, budget)

    def _grow(
        self, starts: list[int], weights: FloatArray, limit: int, unit: int, budget: Budget
    ) -> int:
        whole = self.integers(weights)
        front = np.maximum.accumulate(self._front(weights, unit, limit).weights)
        words = self._graph.near.shape[1]
        most = 5_000
        found = np.zeros((most, words), dtype=np.uint64)
        costs = np.zeros(most, dtype=np.int64)
        added, at_a_time = 0, max(1, self.effort_at_a_time // self.tensors.nodes**2)
        # Prices of a tick, as multiples of a stage's weight divided by a stage's cost, with noise,
        # so that repetitions find other sets.
        noise = 0.15
        for price in (0.85, 1.0, 1.15):
            count = 0
            for first in range(0, len(starts), at_a_time):
                if budget.is_spent():
                    break
                self.seed += 1
                count += grow(
                    packed(starts[first : first + at_a_time], self.tensors.nodes),
                    whole,
                    price * self.whole / max(1, limit),
                    noise,
                    self.seed % 2**31,
                    unit,
                    limit,
                    self.tensors.graph.cache,
                    self._graph,
                    front,
                    found[count:],
                    costs[count:],
                )
            for row in range(count):
                added += self.pool.add(unpacked(found[row]), int(costs[row]))
        return added

    def integers(self, weights: FloatArray) -> IntArray:
        """Return weights as integers, rounded down."""
        result: IntArray = np.floor(weights * self.whole).astype(np.int64)
        return result

    def heaviest_packing(self, weights: IntArray, limit: int) -> int:
        """Return what the heaviest known packing weighs."""
        unit = unit_of(limit)
        return Front.of(self.pool, weights, unit, limit // unit).most

    def _front(self, weights: FloatArray, unit: int, limit: int) -> Front:
        return Front.of(self.pool, self.integers(weights), unit, limit // unit)

    def _scaled(self, weights: FloatArray, front: Front) -> tuple[FloatArray, float]:
        """Scale weights so that no packing or node weighs more than 1; return their sum, too.

        Between such weights and the program's solution, weights either have a packing that is new
        to the program, or a larger sum.
        """
        heaviest = max(front.most / self.whole, float(weights.max()))
        return weights / heaviest, float(weights.sum()) / heaviest


class _Program:
    """The program at one threshold, with the packings known at lower cost.

    A node weighs 1 at most, and nothing if it is in a set that costs less than a unit.
    """

    def __init__(self, weigher: Weigher, limit: int, unit: int, threads: int) -> None:
        self.weigher, self.unit = weigher, unit
        self.master = Master(weigher.tensors.nodes, threads, weigher.most_columns)
        self.looked_at = 0
        self.forbidden: set[int] = set()
        for row, cost in weigher.packings.costs.items():
            if cost <= limit:
                self.master.add(row)

    def add(self, packings: list[Packing]) -> None:
        """Add rows for packings."""
        for packing in packings:
            self.master.add(self.weigher.packings.add(self.weigher.pool, packing))

    def allowed(self, weights: FloatArray) -> FloatArray:
        """Return weights without those of nodes in sets that cost less than a unit."""
        pool = self.weigher.pool
        for i in range(self.looked_at, len(pool.members)):
            if pool.costs[i] < self.unit:
                for v in bits_of(pool.members[i]):
                    self.master.forbid(v)
                    self.forbidden.add(v)
        self.looked_at = len(pool.members)
        result = weights.copy()
        result[list(self.forbidden)] = 0.0
        return result


class Master:
    """The linear program of node weights with packings as rows, by the simplex method.

    It is the largest sum of weights such that no packing weighs more than 1 at one threshold.

    It is solved as its dual, the least number of packings that cover all nodes: there, a packing is
    a column, and the basis stays as small as there are nodes. Weights are the multipliers.

    Parameters
    ----------
    most_columns
        Packings for each node beyond which those with the largest reduced costs are dropped, down
        to half. Solving takes half to nine tenths of the time that it takes with all.
    growth
        Factor by which this number grows whenever packings are dropped, so that dropping ends.
    """

    def __init__(self, nodes: int, threads: int, most_columns: float, growth: float = 1.25) -> None:
        """Begin with weights of at most 1."""
        ones, unlimited = np.ones(nodes), np.full(nodes, np.inf)
        limits = (np.zeros(nodes), unlimited), (ones, unlimited)
        self._program = LinearProgram(
            eye_array(nodes, format="csr"), ones, *limits, threads, "primal"
        )
        self._reduced_costs = ones
        self._nodes, self._most, self._growth = nodes, most_columns * nodes, growth
        self._packings: dict[Row, None] = {}

    def add(self, packing: Row) -> bool:
        """Add a packing; return whether it is new."""
        if packing in self._packings:
            return False
        self._packings[packing] = None
        nodes = np.array([v for v, _ in packing], dtype=np.int32)
        times = np.array([count for _, count in packing], dtype=np.float64)
        self._program.add_column(1.0, nodes, times)
        return True

    def forbid(self, node: int) -> None:
        """Give a node no weight."""
        self._program.change_cost(node, 0.0)

    def drop_idle(self) -> list[Row]:
        """If there are many packings, drop those that constrain the last solution least."""
        if len(self._packings) <= self._most:
            return []
        costs = self._reduced_costs[self._nodes :]
        order = np.argsort(costs, kind="stable")[int(self._most / 2) :]
        # Columns of the basis have no reduced cost.
        idle = np.sort(order[costs[order] > 1e-7])
        self._program.delete_columns((self._nodes + idle).astype(np.int32))
        packings = list(self._packings)
        dropped = [packings[i] for i in idle.tolist()]
        for key in dropped:
            del self._packings[key]
        self._most *= self._growth
        return dropped

    def solve(self, seconds: float) -> tuple[FloatArray, float] | None:
        """Return weights and their sum; None if the time was too short."""
        solved = self._program.solve(seconds)
        if solved is None:
            return None
        self._reduced_costs = solved.reduced_costs
        return np.maximum(solved.multipliers, 0.0), solved.optimum


def whole_of(graph: PipelineGraph, limit: int) -> int:
    """Return the integer weight of a stage: precise, and small enough for 64-bit sums."""
    least, each_tick = 2**30, 2**14
    consumers = np.diff(graph.dag.consumer_start)
    total = int(graph.work.sum()) + int((graph.transfer * (1 + consumers)).sum())
    largest = min(LARGEST_SUM * max(1, limit) // max(1, total), LARGEST_SUM // graph.dag.nodes)
    return max(1, min(largest, max(least, each_tick * limit)))
