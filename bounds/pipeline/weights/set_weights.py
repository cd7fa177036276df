"""Search for node weights: the largest sum such that no stage within a limit weighs more than 1.

A linear program with a row per set that is known. Sets come from walks that look for heavy ones
under the program's solution; whether there are heavier ones is for a search through all sets to
tell.

The first and the last stage may weigh less than others: the former is a set with all producers of
its nodes, the latter one with all consumers. What the heaviest ones weigh is two more variables.
"""

from dataclasses import dataclass, field

import numpy as np

from boundmark.bounds.pipeline.weights.known_sets import KnownSets, WalkSettings
from boundmark.bounds.pipeline.weights.program import FloatArray
from boundmark.bounds.pipeline.weights.set_program import SetProgram, SetProgramSettings
from boundmark.bounds.pipeline.weights.shared import Found
from boundmark.bounds.pipeline.weights.tensors import ANY, FIRST, LAST, Tensors
from boundmark.bounds.pipeline.weights.weighing import Weighing
from boundmark.problems.method import Budget


@dataclass(frozen=True)
class SetWeightSettings:
    """Settings of the search for weights.

    Attributes
    ----------
    first_part, first_rows
        Of sets known from other limits, those become rows at once that weigh this part of the
        heaviest one under the weights to begin with, at most so many.
    violation, most_rows
        Later those do that the program's solution lets weigh more than 1 by `violation`, at most so
        many in a round.
    heavy_part
        Sets that weigh this part of the heaviest one become rows in each round.
    first_gap
        Difference of the bounds, in stages, that the program's first solution goes by.
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
    walks, program
        Settings of the walks and of the program.
    """

    first_part: float = 0.95
    first_rows: int = 1000
    violation: float = 1e-6
    most_rows: int = 60
    heavy_part: float = 0.97
    first_gap: float = 0.5
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
    program: SetProgramSettings = field(default_factory=SetProgramSettings)


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
        # The program, and the limit that it is for.
        self._limit = -1

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

    def needed(self, weights: FloatArray, limit: int) -> float:
        """Return how many stages weights call for, by the sets known that cost at most a limit."""
        self._limit_to(limit, weights)
        return self._scaled(weights)[1]

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
        self._limit_to(limit, start)
        best = looked_at = start
        lower, upper, idle = 0.0, np.inf, 0
        while True:
            self._walk(looked_at, budget)
            added = self._add_heavy(looked_at) + self._add_violated(looked_at)
            idle = 0 if added else idle + 1
            best, lower = self._scaled(best)
            other, total = self._scaled(looked_at)
            if total > lower:
                best, lower = other, total
            gap = settings.first_gap if upper == np.inf else max(upper - lower, settings.close)
            looked_at, upper = self._program.solve(gap, budget)
            upper += len(self.positions) - 1
            self._program.drop_idle()
            if upper <= self.k or idle == settings.patience or budget.is_spent():
                break
            if upper - lower < settings.close and (
                is_quick or not self._finds_heavier(best, budget)
            ):
                break
        return Weighing(best, lower, upper)

    def _limit_to(self, limit: int, start: FloatArray) -> None:
        """Begin the program of a limit, with sets that are heavy at the beginning."""
        if limit == self._limit:
            return
        self._limit = limit
        self._program = SetProgram(self.known, limit, self.positions, start, self.settings.program)
        for position in self.positions:
            least = self.settings.first_part * self._heaviest(start, position)
            self._program.add_heaviest(start, position, least, self.settings.first_rows)

    def _add_heavy(self, weights: FloatArray) -> int:
        """Add sets that are heavy compared with the heaviest one; return how many."""
        settings = self.settings
        return sum(
            self._program.add_heaviest(
                weights,
                position,
                settings.heavy_part * self._heaviest(weights, position),
                settings.most_rows,
            )
            for position in self.positions
        )

    def _add_violated(self, weights: FloatArray) -> int:
        """Add sets that weigh more than rows allow; return how many."""
        return sum(
            self._program.add_heaviest(
                weights,
                position,
                (1.0 if position == ANY else self._program.heaviest(weights, position))
                + self.settings.violation,
                self.settings.most_rows,
            )
            for position in self.positions
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
