"""`reach`: refutes thresholds by bounds on the first s stages, s = 1 to k, with rising effort.

Thresholds between what has been refuted and the cost of the best partition are tried. At each, an
attempt is made to refute it, and another to meet it stage by stage. Both may fail. Such a threshold
stands until the next round, in which steps branch more often. Real models are long: a step's linear
program is nearly integral there, and few nodes are open in it.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline import minimum_cuts, work
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.reach.attempt import KIND, Attempt, Context, refuse_large
from boundmark.bounds.pipeline.reach.greedy import Greedy
from boundmark.bounds.pipeline.reach.prefixes import OutOfTimeError
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


class Round(NamedTuple):
    """Settings of one round: how much effort goes into a threshold.

    Attributes
    ----------
    branchings
        In each step.
    stages
        Of a step.
    precision
        How close the refuted threshold is to come to the least one that stands, as a part of it.
    is_whole
        Whether a program of all stages is tried at each threshold, and not only where the gap is
        nearly closed: a tick is a large part of the cost of a small instance.
    """

    branchings: int
    stages: int
    precision: float
    is_whole: bool = False


@dataclass(frozen=True)
class ReachSettings:
    """Settings of `reach`: its rounds, and how time is divided between bounds and partitions.

    Attributes
    ----------
    few_stages_rounds
        Rounds with few stages. When steps of one stage prove no more, those of two do, because
        both have to agree on the prefix between them.
    many_stages, many_stages_rounds
        Number of stages from which on other rounds are used. There, the losses of short steps add
        up, and there are fewer steps of four stages.
    nearly_closed
        Gap, as a part of the cost, from which on the threshold just below the best cost is tried
        first, with steps from both ends.
    many_branchings
        Branchings from which on a program of all stages is tried, and the other end after short
        steps.
    most_greedy_branchings
        Branchings of a stage of a partition, at most.
    improvement
        The search for partitions ends when the largest threshold that failed is this close to the
        best cost, as a part of it.
    least_part
        Least distance of a threshold from both bounds, as a part of the gap.
    first_of_long_steps
        Position of the first threshold in the gap, as a part of it, for long steps: a failure
        takes long, and much is rarely refuted.
    meeting_part
        Part of the time for partitions; the last one begun may exceed it.
    report_every, between_reports
        Time between two certificates: a part of all time, or so many times what the last one took
        if that is less.
    start_fraction
        Part of the time for a partition to start from, unless a cost is known.
    """

    few_stages_rounds: tuple[Round, ...] = (
        Round(0, 1, 0.003),
        Round(10, 1, 0.003),
        Round(10, 2, 0.002),
        Round(25, 2, 0.001),
        Round(100, 2, 0.001),
        Round(400, 2, 0.0005),
        Round(1600, 2, 0.0002),
        Round(6400, 3, 0.0, is_whole=True),
    )
    many_stages: int = 12
    many_stages_rounds: tuple[Round, ...] = (
        Round(0, 1, 0.01),
        Round(10, 1, 0.02),
        Round(50, 4, 0.003),
        Round(200, 4, 0.001),
        Round(400, 4, 0.0005),
        Round(1600, 4, 0.0002),
        Round(6400, 4, 0.0, is_whole=True),
    )
    nearly_closed: float = 0.01
    many_branchings: int = 100
    most_greedy_branchings: int = 200
    improvement: float = 0.002
    least_part: float = 0.125
    first_of_long_steps: float = 1 / 6
    meeting_part: float = 0.25
    report_every: float = 0.1
    between_reports: float = 20.0
    start_fraction: float = 0.02

    def rounds(self, k: int) -> tuple[Round, ...]:
        """Return the rounds for k stages."""
        return self.many_stages_rounds if k >= self.many_stages else self.few_stages_rounds


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: ReachSettings = ReachSettings(),
) -> None:
    """Report ever better partitions and certificates.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker.
    """
    refuse_large(instance)
    best = Best.before(instance, progress)
    work.run_mean_work(instance, budget, seed, best)
    minimum_cuts.run_node_cut(instance, budget, seed, best)
    if math.isinf(best.objective):
        floor = int(best.certified)
        best.solution(quick_partition(instance, seed, budget.part(settings.start_fraction), floor))
    # Of a large graph, the context takes part of a second.
    with suppress(OutOfTimeError):
        context = Context.of(instance, budget)
        ClosingIn(context, best, settings).run()


class ClosingIn:
    """Search from both sides: raise the bound, lower the best cost, until they meet."""

    def __init__(self, context: Context, best: Best, settings: ReachSettings) -> None:
        self._context, self._best, self._settings = context, best, settings
        self._own_refuted = int(best.certified) - 1
        self._waiting: Attempt | None = None
        self._reported = context.budget.spent()
        self._reporting = 0.0
        self._meeting = 0.0

    def run(self) -> None:
        """Go through the rounds."""
        try:
            for effort in self._settings.rounds(self._context.instance.k):
                if self._is_closed:
                    break
                self._round(effort)
                self._improve(max(effort.branchings, self._context.settings.few_branchings))
        except OutOfTimeError:
            pass
        self._report()

    @property
    def _refuted(self) -> int:
        """The largest threshold that was refuted, here or by another method."""
        return max(self._own_refuted, int(self._best.certified) - 1)

    @property
    def _is_closed(self) -> bool:
        return self._refuted >= self._best.objective - 1

    def _round(self, effort: Round) -> None:
        best, is_first, slack = self._best, True, 0.0
        settings, short = self._settings, self._context.settings.short
        stands = best.objective
        while not self._is_closed:
            high = int(min(stands, best.objective))
            width = high - self._refuted
            if width <= max(1, int(effort.precision * high)) and (width <= 1 or not is_first):
                break
            is_narrow = best.objective - self._refuted <= settings.nearly_closed * best.objective
            starts_at_the_top = is_narrow and is_first
            share = 0.5 if effort.stages <= short else settings.first_of_long_steps
            threshold = high - 1 if starts_at_the_top else self._between(high, slack, share)
            is_first = False
            found = self._decide(threshold, effort, is_narrow)
            if found is None:
                slack = 0.0
            else:
                stands, slack = threshold, found

    def _between(self, high: int, slack: float, share: float) -> int:
        """Return a threshold between the refuted one and the least that stands.

        Parameters
        ----------
        slack
            What was lacking at the threshold that stands, in stages; 0 if that is not known. Each
            of the stages gets less by what a lower threshold lacks.
        share
            Where the threshold is otherwise, as a part of the way up.
        """
        width = high - self._refuted
        guess = int(slack / self._context.instance.k * high if slack else (1 - share) * width)
        nearest = int(self._settings.least_part * width)
        return high - max(1, min(max(guess, nearest), width - max(1, nearest)))

    def _decide(self, threshold: int, effort: Round, is_narrow: bool) -> float | None:
        """Try to refute a threshold, or else to find a partition that meets it.

        Returns
        -------
        None if either has come off, otherwise what was lacking.
        """
        amounts = self._context.amounts(threshold)
        if amounts is None:
            raise AssertionError("some node does not fit at a threshold that is not refuted")
        attempt = Attempt(self._context, threshold, amounts)
        branchings, stages = effort.branchings, effort.stages
        if attempt.is_refuted or attempt.forward(branchings, stages):
            self._refute(attempt)
            return None
        is_long = stages > self._context.settings.short
        if is_long and attempt.back_and_forth(branchings, stages):
            self._refute(attempt)
            return None
        if branchings and (is_narrow or self._may_meet) and self._meet(threshold, branchings):
            return None
        is_worth_all = effort.is_whole or (
            is_narrow and branchings >= self._settings.many_branchings
        )
        if is_worth_all and (
            (not is_long and attempt.backward(branchings, stages))
            or attempt.finish(branchings, self._best)
        ):
            self._refute(attempt)
            return None
        return None if self._best.objective <= threshold else attempt.slack

    @property
    def _may_meet(self) -> bool:
        """Whether there is time for partitions."""
        return self._meeting <= self._settings.meeting_part * self._context.budget.spent()

    def _improve(self, branchings: int) -> None:
        """Bisect for the least threshold at which a partition is built, while there is time."""
        unmet, best = self._refuted, self._best
        while (
            self._may_meet and best.objective - unmet > self._settings.improvement * best.objective
        ):
            threshold = unmet + int(best.objective - unmet) // 2
            if not self._meet(threshold, branchings):
                unmet = threshold

    def _meet(self, threshold: int, branchings: int) -> bool:
        """Build partitions at a threshold; return whether one of them meets it."""
        budget = self._context.budget
        began = budget.spent()
        for price in self._context.settings.prices:
            limit = min(branchings, self._settings.most_greedy_branchings)
            partition = Greedy(self._context, threshold, "upper", price, limit).partition()
            self._meeting += budget.spent() - began
            began = budget.spent()
            if partition is not None:
                self._best.solution(partition)
                if self._best.objective <= threshold:
                    return True
        return False

    def _refute(self, attempt: Attempt) -> None:
        self._own_refuted, self._waiting = attempt.threshold, attempt
        budget = self._context.budget
        pause = min(
            self._settings.report_every * budget.wall_seconds,
            self._settings.between_reports * self._reporting,
        )
        if budget.spent() >= self._reported + pause:
            self._report()

    def _report(self) -> None:
        """Report the certificate of the largest threshold refuted."""
        if self._waiting is not None:
            began = self._context.budget.spent()
            instance, payload = self._context.instance, self._waiting.payload()
            bound = self._waiting.threshold + 1
            self._best.bound(Certificate.of(instance, KIND, bound, payload, "reach"))
            self._waiting = None
            self._reported = self._context.budget.spent()
            self._reporting = self._reported - began
