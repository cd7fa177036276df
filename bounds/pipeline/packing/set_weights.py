"""Search for node weights: the largest sum such that each convex set within a limit weighs 1.

A linear program with a row per set that is known. Sets come from walks that look for heavy ones
near the best weights so far and the program's solution; whether there are heavier ones is for a
search through all sets to tell.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from boundmark.bounds.pipeline.packing.shared import Found
from boundmark.bounds.pipeline.packing.tensors import Tensors, bits_of, members_where, packed
from boundmark.bounds.pipeline.packing.walk import walk
from boundmark.bounds.pipeline.packing.weighing import FloatArray, Master, Row, Weighing
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition

BoolMatrix = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SetWeightSettings:
    """Settings of the search for weights.

    Attributes
    ----------
    walks, walk_steps, most_found
        Number of walks in a round, their length, and the sets that one may find.
    from_known
        Part of the walks that begin with one of the heaviest sets known; others begin with a node.
    best_part
        Weight of the best weights so far in those of the next walks; the rest is the program's
        solution.
    heavy_part
        Sets of a walk count if they weigh this part of the heaviest set known.
    first_part, violation, most_rows
        Of sets known from other limits, those become rows at once that weigh the first part of the
        heaviest one under the weights to begin with; later those that the program's solution lets
        weigh more than 1 by `violation`, at most so many in a round.
    close
        The search ends when its bounds differ by less, in stages.
    last_rounds
        Number of rounds of walks before that, without a heavier set.
    patience
        Number of rounds without a new set after which it ends.
    thresholds, threshold_fraction
        Number of thresholds that weights are found for until the largest one that they refute is
        known, at most, and the part of the time left that each takes, at most.
    first_threshold, next_threshold
        The first threshold, as a part of the cost of a partition, and each next one as a part of
        one that weights do not refute, until they refute one.
    precision
        Largest distance between a threshold that they refute and one that they do not at which the
        largest one they refute is known well enough, as a part of it.
    margin
        By how much the weights have to exceed k stages to refute a threshold, as a part of them.
    """

    walks: int = 3
    walk_steps: int = 1200
    most_found: int = 30
    from_known: float = 0.85
    best_part: float = 0.6
    heavy_part: float = 0.97
    first_part: float = 0.95
    violation: float = 1e-6
    most_rows: int = 60
    close: float = 0.01
    last_rounds: int = 10
    patience: int = 8
    thresholds: int = 8
    threshold_fraction: float = 0.3
    first_threshold: float = 0.97
    next_threshold: float = 0.96
    precision: float = 0.02
    margin: float = 0.003


@dataclass(eq=False)
class SetWeights:
    """Search for weights of one graph, limit after limit.

    Overflow counts in what sets cost, but walks do not see it.

    Attributes
    ----------
    costs
        What each known set costs, by its bits.
    """

    tensors: Tensors
    k: int
    seed: int
    settings: SetWeightSettings = SetWeightSettings()
    costs: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dag, nodes = self.tensors.graph.dag, self.tensors.nodes
        self._random = np.random.default_rng(self.seed)
        self._before = packed(self.tensors.before, nodes)
        self._after = packed(self.tensors.after, nodes)
        self._consumers = frozen(np.diff(dag.consumer_start))
        self._in_start, edges = in_edges(self.tensors)
        self._producers = frozen(dag.sources[edges])
        ends = [(u, v) for u in range(nodes) for v in bits_of(self.tensors.ends[u])]
        self._sets, self._count = np.zeros((64, nodes)), 0
        self._costs: IntArray = np.zeros(64, dtype=np.int64)
        # Of the sets, which are rows of the program, and the limit that this is for.
        self._is_row, self._limit = np.zeros(64, dtype=np.bool_), -1
        self._row_of: dict[Row, int] = {}
        at = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        shape = (nodes, nodes)
        self._ends = csr_array((np.ones(at.shape[1], dtype=np.int64), (at[0], at[1])), shape=shape)
        self._end_counts = np.bincount(at[0], minlength=nodes)

    def by_work(self) -> FloatArray:
        """Return weights in proportion to work that come to k stages."""
        work = self.tensors.graph.work
        weights: FloatArray = work / max(1, int(work.sum())) * self.k
        return weights

    def add(self, members: int) -> bool:
        """Add a set to the constraints on weights; return whether it is new."""
        if not members:
            return False
        return self._add_all(as_mask(members, self.tensors.nodes)[None]) > 0

    def heaviest_sets(self, weights: FloatArray, limit: int) -> list[int]:
        """Return the known sets that cost at most a limit, heaviest first."""
        sets = list(self.costs)
        order = np.argsort(-(self._sets[: self._count] @ weights), kind="stable")
        return [sets[i] for i in order.tolist() if self._costs[i] <= limit]

    def add_stages(self, partition: Partition) -> None:
        """Add the stages of a partition to the constraints on weights."""
        for stage in range(int(partition.stages.max()) + 1):
            self.add(members_where(partition.stages == stage))

    def for_largest(
        self,
        between: tuple[int, int],
        allowed: int,
        start: FloatArray,
        budget: Budget,
        first: int | None = None,
    ) -> Found:
        """Find weights for about the largest threshold that they refute.

        Parameters
        ----------
        between
            A threshold that is refuted already, and the cost of a partition.
        allowed
            What a set may cost more than the threshold.
        start
            Weights to begin with.
        first
            The threshold to begin with; None for that of the settings.
        """
        settings, last, kept, current = self.settings, 0, start, start
        refuted, above = between
        first = int(settings.first_threshold * above) if first is None else first
        threshold = min(max(refuted + 1, first), above - 1)
        for _ in range(settings.thresholds):
            if budget.is_spent() or above - refuted <= max(1.0, settings.precision * above):
                break
            part = budget.part(settings.threshold_fraction)
            weighing = self.at(threshold + allowed, current, part)
            current = weighing.weights
            if weighing.lower > self.k * (1 + settings.margin):
                refuted = last = threshold
                kept = weighing.weights
                threshold = min(int(threshold * weighing.lower / self.k), (threshold + above) // 2)
            else:
                above = threshold
                lower = max(refuted + 1, int(threshold * settings.next_threshold))
                threshold = (refuted + above) // 2 if last else lower
        if last:
            current = self.at(last + allowed, kept, budget).weights
        last = last or threshold
        return Found(last, current, tuple(self.heaviest_sets(current, last + allowed)))

    def at(
        self, limit: int, start: FloatArray, budget: Budget, *, is_quick: bool = False
    ) -> Weighing:
        """Find weights under which every set that costs at most a limit weighs at most 1.

        Parameters
        ----------
        is_quick
            Whether to end without the last rounds of walks.
        """
        settings = self.settings
        self._limit_to(limit, start, budget.threads)
        best, looked_at, lower, upper, idle = start, start, 0.0, np.inf, 0
        solution: FloatArray | None = None
        while True:
            self._walk(looked_at, budget)
            added = self._add_rows(looked_at, settings.heavy_part * self._heaviest(looked_at))
            if solution is not None:
                added += self._add_rows(solution, 1 + settings.violation)
            idle = 0 if added else idle + 1
            best, lower = self._scaled(best)
            other, total = self._scaled(looked_at)
            if total > lower:
                best, lower = other, total
            solved = self._master.solve(budget.remaining())
            if solved is None:
                break
            solution, upper = solved
            self._drop_idle_rows()
            if upper <= self.k or idle == settings.patience or budget.is_spent():
                break
            if upper - lower < settings.close and (
                is_quick or not self._finds_heavier(best, budget)
            ):
                break
            looked_at = settings.best_part * best + (1 - settings.best_part) * solution
        return Weighing(best, lower, upper)

    def _limit_to(self, limit: int, start: FloatArray, threads: int) -> None:
        """Begin the program of a limit, with sets that are heavy at the beginning."""
        if limit == self._limit:
            return
        self._limit, self._master = limit, Master(self.tensors.nodes, threads)
        self._is_row[:] = False
        self._row_of.clear()
        self._add_rows(start, self.settings.first_part * self._heaviest(start))

    def _add_rows(self, weights: FloatArray, least: float) -> int:
        """Add the heaviest sets that are not in it to the program; return how many."""
        weighed = self._weighed(weights)
        weighed[self._is_row[: self._count]] = -1.0
        rows = np.flatnonzero(weighed > least)
        if len(rows) > self.settings.most_rows:
            rows = rows[np.argsort(-weighed[rows], kind="stable")[: self.settings.most_rows]]
        for row in rows.tolist():
            nodes = tuple((v, 1) for v in np.flatnonzero(self._sets[row]).tolist())
            self._master.add(nodes)
            self._row_of[nodes] = row
        self._is_row[rows] = True
        return len(rows)

    def _drop_idle_rows(self) -> None:
        """Drop sets from the program that constrain its solution least, if there are many."""
        for nodes in self._master.drop_idle():
            self._is_row[self._row_of.pop(nodes)] = False

    def _weighed(self, weights: FloatArray) -> FloatArray:
        """Return what each known set weighs, 0 for those that cost more than the limit."""
        weighed: FloatArray = self._sets[: self._count] @ weights
        weighed[self._costs[: self._count] > self._limit] = 0.0
        return weighed

    def _heaviest(self, weights: FloatArray) -> float:
        return float(self._weighed(weights).max(initial=0.0))

    def _scaled(self, weights: FloatArray) -> tuple[FloatArray, float]:
        """Scale weights so that no node or known set weighs more than 1; return their sum, too."""
        heaviest = max(float(weights.max()), self._heaviest(weights), 1e-9)
        return weights / heaviest, float(weights.sum()) / heaviest

    def _walk(self, weights: FloatArray, budget: Budget) -> None:
        """Add heavy sets, by walks from the heaviest ones known and from single nodes."""
        settings, nodes = self.settings, self.tensors.nodes
        weighed = self._weighed(weights)
        heaviest = float(weighed.max(initial=0.0))
        order = np.argsort(-weighed, kind="stable")[: 3 * settings.walks]
        order = order[weighed[order] > 0]
        found: BoolMatrix = np.zeros((settings.most_found, nodes), dtype=np.bool_)
        for _ in range(settings.walks):
            if budget.is_spent():
                break
            if len(order) and self._random.random() < settings.from_known:
                row = order[min(len(order) - 1, int(self._random.exponential(3.0)))]
                begun = self._sets[row] > 0
            else:
                begun = as_mask(1 << int(self._random.integers(nodes)), nodes)
            count = walk(
                begun,
                self._before,
                self._after,
                self.tensors.graph.work,
                self.tensors.graph.transfer,
                self._consumers,
                self._in_start,
                self._producers,
                weights / max(heaviest, 1e-9),
                self._limit,
                settings.walk_steps,
                int(self._random.integers(2**31)),
                found,
            )
            # Lighter sets are met on the way to heavy ones, and tell nothing.
            heavy = found[:count][found[:count] @ weights > settings.heavy_part * heaviest]
            if len(heavy):
                heaviest = max(heaviest, float((heavy @ weights).max()))
                self._add_all(heavy)

    def _finds_heavier(self, weights: FloatArray, budget: Budget) -> bool:
        """Whether one of several more rounds of walks finds a set heavier than all known."""
        heaviest = self._heaviest(weights)
        for _ in range(self.settings.last_rounds):
            self._walk(weights, budget)
            if self._heaviest(weights) > heaviest * (1 + self.settings.violation):
                return True
        return False

    def _add_all(self, masks: BoolMatrix) -> int:
        """Add sets given as rows; return how many are new."""
        graph, before = self.tensors.graph, self._count
        inside = self._ends @ masks.T.astype(np.int64)
        is_moved = (inside > 0) & (inside < self._end_counts[:, None])
        overflow = np.maximum(masks @ graph.param_load - graph.cache, 0)
        costs = masks @ graph.work + graph.transfer @ is_moved + overflow
        for mask, cost in zip(masks, costs.tolist(), strict=True):
            members = members_where(mask)
            if members in self.costs:
                continue
            self.costs[members] = cost
            if self._count == len(self._sets):
                self._sets = np.vstack([self._sets, np.zeros_like(self._sets)])
                self._costs = np.concatenate([self._costs, np.zeros_like(self._costs)])
                self._is_row = np.concatenate([self._is_row, np.zeros_like(self._is_row)])
            self._sets[self._count], self._costs[self._count] = mask, cost
            self._count += 1
        return self._count - before


def in_edges(tensors: Tensors) -> tuple[IntArray, IntArray]:
    """Return where each node's in-edges begin in a list, and the list."""
    dag = tensors.graph.dag
    edges = np.argsort(dag.targets, kind="stable")
    return frozen(np.searchsorted(dag.targets[edges], np.arange(tensors.nodes + 1))), frozen(edges)


def as_mask(members: int, nodes: int) -> npt.NDArray[np.bool_]:
    """Return a set as an array."""
    result = np.zeros(nodes, dtype=np.bool_)
    result[list(bits_of(members))] = True
    return result
