"""Search for node weights: the largest sum such that no stage within a limit weighs more than 1.

A linear program with a row per set that is known. Sets come from walks that look for heavy ones
near the best weights so far and the program's solution; whether there are heavier ones is for a
search through all sets to tell.

The first and the last stage may weigh less than others: the former is a set with all producers of
its nodes, the latter one with all consumers. What the heaviest ones weigh is two more variables.
"""

from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.pipeline.packing.known_sets import KnownSets, WalkSettings
from boundmark.bounds.pipeline.packing.program import FloatArray, Master, Row
from boundmark.bounds.pipeline.packing.shared import Found
from boundmark.bounds.pipeline.packing.tensors import ANY, FIRST, LAST, Tensors
from boundmark.bounds.pipeline.packing.weighing import Weighing
from boundmark.problems.method import Budget


@dataclass(frozen=True)
class SetWeightSettings:
    """Settings of the search for weights.

    Attributes
    ----------
    best_part
        Weight of the best weights so far in those of the next walks; the rest is the program's
        solution.
    first_part, first_rows
        Of sets known from other limits, those become rows at once that weigh this part of the
        heaviest one under the weights to begin with, at most so many.
    violation, most_rows
        Later those do that the program's solution lets weigh more than 1 by `violation`, at most so
        many in a round.
    heavy_part
        Sets that weigh this part of the heaviest one become rows in each round.
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
        The first threshold, as a part of the cost of a partition, and the least and largest part
        that each next one is of one that weights do not refute, until they refute one.
    precision
        Largest distance between a threshold that they refute and one that they do not at which the
        largest one they refute is known well enough, as a part of it.
    margin
        By how much the weights have to exceed k stages to refute a threshold, as a part of them.
    walks
        Settings of the walks.
    """

    best_part: float = 0.6
    first_part: float = 0.95
    first_rows: int = 1000
    violation: float = 1e-6
    most_rows: int = 60
    heavy_part: float = 0.97
    close: float = 0.01
    last_rounds: int = 10
    patience: int = 8
    thresholds: int = 8
    threshold_fraction: float = 0.3
    first_threshold: float = 0.97
    next_threshold: tuple[float, float] = (0.8, 0.96)
    precision: float = 0.02
    margin: float = 0.003
    walks: WalkSettings = field(default_factory=WalkSettings)


@dataclass(eq=False)
class SetWeights:
    """Search for weights of one graph, limit after limit.

    Attributes
    ----------
    has_ends
        Whether the first and the last stage have limits of their own.
    known
        The sets that are known.
    """

    tensors: Tensors
    k: int
    seed: int
    settings: SetWeightSettings = SetWeightSettings()
    has_ends: bool = False

    def __post_init__(self) -> None:
        self.known = KnownSets(self.tensors, self.seed, self.settings.walks)
        self.positions = (ANY, FIRST, LAST) if self.has_ends else (ANY,)
        # Of the sets, which are rows of the program, and the limit that this is for.
        self._limit = -1
        self._rows: list[_SetRows] = []

    def by_work(self) -> FloatArray:
        """Return weights in proportion to work that come to k stages."""
        work = self.tensors.graph.work
        weights: FloatArray = work / max(1, int(work.sum())) * self.k
        return weights

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
            seconds = budget.part(settings.threshold_fraction)
            weighing = self.at(threshold + allowed, current, seconds)
            current = weighing.weights
            if weighing.lower > self.k * (1 + settings.margin):
                refuted = last = threshold
                kept = weighing.weights
                threshold = min(int(threshold * weighing.lower / self.k), (threshold + above) // 2)
            else:
                above = threshold
                # The sum of the best weights is between these bounds; the less, the farther down.
                called_for = (weighing.lower + weighing.upper) / (2 * self.k)
                lowest, highest = settings.next_threshold
                part = min(max(called_for, lowest), highest)
                lower = max(refuted + 1, int(threshold * part))
                threshold = (refuted + above) // 2 if last else lower
        if last:
            current = self.at(last + allowed, kept, budget).weights
        last = last or threshold
        return Found(last, current, tuple(self.known.heaviest_sets(current, last + allowed)))

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
            added = sum(
                rows.add_heaviest(
                    looked_at,
                    settings.heavy_part * self._heaviest(looked_at, rows.position),
                    settings.most_rows,
                )
                for rows in self._rows
            )
            if solution is not None:
                added += self._add_violated(solution)
            idle = 0 if added else idle + 1
            best, lower = self._scaled(best)
            other, total = self._scaled(looked_at)
            if total > lower:
                best, lower = other, total
            solved = self._master.solve(budget.remaining())
            if solved is None:
                break
            solution, upper = solved
            upper += len(self.positions) - 1
            for nodes, position in self._master.drop_idle():
                self._rows[position].forget(nodes)
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
        self._rows = [
            _SetRows(self.known, self._master, limit, position) for position in self.positions
        ]
        for rows in self._rows:
            least = self.settings.first_part * self._heaviest(start, rows.position)
            rows.add_heaviest(start, least, self.settings.first_rows)

    def _add_violated(self, solution: FloatArray) -> int:
        """Add sets that weigh more than the program's solution allows; return how many."""
        return sum(
            rows.add_heaviest(
                solution,
                (1.0 if rows.position == ANY else rows.heaviest(solution))
                + self.settings.violation,
                self.settings.most_rows,
            )
            for rows in self._rows
        )

    def _heaviest(self, weights: FloatArray, position: int = ANY) -> float:
        return self.known.heaviest(weights, self._limit, position)

    def _scaled(self, weights: FloatArray) -> tuple[FloatArray, float]:
        """Scale weights so that no node or known set weighs more than 1.

        Returns
        -------
        The weights, and how many stages they call for.
        """
        heaviest = max(float(weights.max()), self._heaviest(weights), 1e-9)
        needed = float(weights.sum()) / heaviest
        for position in self.positions[1:]:
            needed += 1 - self._heaviest(weights, position) / heaviest
        return weights / heaviest, needed

    def _walk(self, weights: FloatArray, budget: Budget) -> None:
        for position in self.positions:
            self.known.walk(weights, self._limit, position, budget)

    def _finds_heavier(self, weights: FloatArray, budget: Budget) -> bool:
        """Whether one of several more rounds of walks finds a set heavier than all known."""
        _, needed = self._scaled(weights)
        for _ in range(self.settings.last_rounds):
            self._walk(weights, budget)
            if self._scaled(weights)[1] < needed * (1 - self.settings.violation):
                return True
        return False


@dataclass(eq=False)
class _SetRows:
    """The sets that are rows of a program of weights at a limit, as stages at one position."""

    known: KnownSets
    master: Master
    limit: int
    position: int

    def __post_init__(self) -> None:
        self._number: dict[Row, int] = {}

    def add_heaviest(self, weights: FloatArray, least: float, most_rows: int) -> int:
        """Add the sets that weigh more than `least` and are no rows, the heaviest first.

        Returns
        -------
        How many were added, `most_rows` at most.
        """
        weighed = self.known.weighed(weights, self.limit, self.position)
        weighed[list(self._number.values())] = 0.0
        rows = np.flatnonzero(weighed > max(least, 0.0))
        if len(rows) > most_rows:
            rows = rows[np.argsort(-weighed[rows], kind="stable")[:most_rows]]
        for row in rows.tolist():
            nodes = self.known.nodes_of(row)
            self.master.add(nodes, self.position)
            self._number[nodes] = row
        return len(rows)

    def heaviest(self, weights: FloatArray) -> float:
        """Return what the heaviest row weighs."""
        rows = list(self._number.values())
        weighed = self.known.weighed(weights, self.limit, self.position)
        return float(weighed[rows].max(initial=0.0))

    def forget(self, nodes: Row) -> None:
        """Note that the program has dropped a set."""
        self._number.pop(nodes, None)
