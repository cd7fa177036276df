"""`reach`: how far the first s stages can get, for s = 1 to k, with more and more effort.

Thresholds between what has been refuted and the cost of the best partition are tried. At each, an
attempt is made to refute it, and another to meet it stage by stage. Both may fail. Such a threshold
stands until the next round, in which steps branch more often. Real models are long: a step's linear
program is nearly integral there, and few nodes are open in it.
"""

from typing import NamedTuple

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline import node_cut, work
from boundmark.bounds.pipeline.quick_partition import quick_partition
from boundmark.bounds.pipeline.reach.attempt import FEW_BRANCHINGS, KIND, SHORT, Attempt, Setting
from boundmark.bounds.pipeline.reach.greedy import PRICES, Greedy
from boundmark.bounds.pipeline.reach.search import OutOfTimeError
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance


class Round(NamedTuple):
    """How much effort goes into a threshold.

    Attributes
    ----------
    branchings
        In each step.
    stages
        Of a step.
    precision
        How close the refuted threshold is to come to the least one that stands, as a part of it.
    """

    branchings: int
    stages: int
    precision: float


# Where steps of one stage end, those of two begin to pay: they have to agree on what is between.
FEW_STAGES_ROUNDS = (
    Round(0, 1, 0.003),
    Round(10, 1, 0.003),
    Round(10, 2, 0.002),
    Round(25, 2, 0.001),
    Round(100, 2, 0.001),
    Round(400, 2, 0.0005),
    Round(1600, 2, 0.0002),
    Round(6400, 3, 0.0),
)

# With many stages, all that short steps lack adds up; there are fewer steps of four.
MANY_STAGES = 12
MANY_STAGES_ROUNDS = (
    Round(0, 1, 0.01),
    Round(10, 1, 0.02),
    Round(50, 4, 0.003),
    Round(200, 4, 0.001),
    Round(400, 4, 0.0005),
    Round(1600, 4, 0.0002),
    Round(6400, 4, 0.0),
)

# When bounds are this close, the threshold just below the best partition's cost is tried first,
# from both ends.
NEARLY_CLOSED = 0.01

# With fewer, all stages at once are not tried, nor the other end after short steps.
MANY_BRANCHINGS = 100

# Branchings of a stage of a partition.
MOST_GREEDY_BRANCHINGS = 200

# Partitions are looked for until the threshold where that fails is so close to the best one.
IMPROVEMENT = 0.002

# Of the width between what is refuted and what stands, the least part that a threshold is from
# either.
LEAST_PART = 0.125

# How far up between them long steps try first: a failure is dear, and much is rarely refuted.
FIRST_OF_LONG_STEPS = 1 / 6

# Of the time, what goes into partitions at most; what is left of the last one may exceed it.
MEETING_PART = 0.25

# Part of the budget between two certificates.
REPORT_EVERY = 0.1

# Of the time, at most, for a partition to start from.
START_FRACTION = 0.02


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ever better partitions and certificates.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker.
    """
    setting = Setting.of(instance, budget)
    best = Best.before(instance, progress)
    work.run_mean_work(instance, budget, seed, best)
    node_cut.run(instance, budget, seed, best)
    floor = int(best.certified)
    best.solution(quick_partition(instance, seed, budget.part(START_FRACTION), floor))
    ClosingIn(setting, best, "reach").run()


class ClosingIn:
    """Raises the bound and lowers the cost of the best partition until they meet or time is up."""

    def __init__(self, setting: Setting, best: Best, producer: str) -> None:
        self._setting, self._best, self._producer = setting, best, producer
        self._refuted = int(best.certified) - 1
        self._waiting: Attempt | None = None
        self._reported = setting.budget.spent()
        self._meeting = 0.0

    def run(self) -> None:
        """Go through the rounds."""
        try:
            many = self._setting.instance.k >= MANY_STAGES
            for effort in MANY_STAGES_ROUNDS if many else FEW_STAGES_ROUNDS:
                if self._is_closed:
                    break
                self._round(effort)
                self._improve(max(effort.branchings, FEW_BRANCHINGS))
        except OutOfTimeError:
            pass
        self._report()

    @property
    def _is_closed(self) -> bool:
        return self._refuted >= self._best.objective - 1

    def _round(self, effort: Round) -> None:
        best, is_first, slack = self._best, True, 0.0
        stands = best.objective
        while not self._is_closed:
            high = int(min(stands, best.objective))
            width = high - self._refuted
            if width <= max(1, int(effort.precision * high)) and (width <= 1 or not is_first):
                break
            is_narrow = best.objective - self._refuted <= NEARLY_CLOSED * best.objective
            starts_at_the_top = is_narrow and is_first
            share = 0.5 if effort.stages <= SHORT else FIRST_OF_LONG_STEPS
            threshold = high - 1 if starts_at_the_top else self._between(high, slack, share)
            is_first = False
            found = self._decide(threshold, effort, is_narrow)
            if found is None:
                slack = 0.0
            else:
                stands, slack = threshold, found

    def _between(self, high: int, slack: float, share: float) -> int:
        """Return a threshold between what is refuted and what stands.

        Parameters
        ----------
        slack
            What was lacking at the threshold that stands, in stages; 0 if that is not known. Each
            of the stages gets less by what a lower threshold lacks.
        share
            Where the threshold is otherwise, as a part of the way up.
        """
        width = high - self._refuted
        guess = int(slack / self._setting.instance.k * high if slack else (1 - share) * width)
        nearest = int(LEAST_PART * width)
        return high - max(1, min(max(guess, nearest), width - max(1, nearest)))

    def _decide(self, threshold: int, effort: Round, is_narrow: bool) -> float | None:
        """Try to refute a threshold, or else to meet it.

        Returns
        -------
        None if either has come off, otherwise what was lacking.
        """
        amounts = self._setting.amounts(threshold)
        if amounts is None:
            raise AssertionError("some node does not fit at a threshold that is not refuted")
        attempt = Attempt(self._setting, threshold, amounts)
        branchings, stages, _ = effort
        if attempt.is_refuted or attempt.forward(branchings, stages):
            self._refute(attempt)
            return None
        is_long = stages > SHORT
        if is_long and attempt.back_and_forth(branchings, stages):
            self._refute(attempt)
            return None
        if branchings and (is_narrow or self._may_meet) and self._meet(threshold, branchings):
            return None
        is_worth_all = is_narrow and branchings >= MANY_BRANCHINGS
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
        return self._meeting <= MEETING_PART * self._setting.budget.spent()

    def _improve(self, branchings: int) -> None:
        """Bisect for the least threshold at which a partition is built, while there is time."""
        unmet, best = self._refuted, self._best
        while self._may_meet and best.objective - unmet > IMPROVEMENT * best.objective:
            threshold = unmet + int(best.objective - unmet) // 2
            if not self._meet(threshold, branchings):
                unmet = threshold

    def _meet(self, threshold: int, branchings: int) -> bool:
        """Build partitions at a threshold; return whether one of them meets it."""
        budget = self._setting.budget
        began = budget.spent()
        for price in PRICES:
            limit = min(branchings, MOST_GREEDY_BRANCHINGS)
            partition = Greedy(self._setting, threshold, "upper", price, limit).partition()
            self._meeting += budget.spent() - began
            began = budget.spent()
            if partition is not None:
                self._best.solution(partition)
                if self._best.objective <= threshold:
                    return True
        return False

    def _refute(self, attempt: Attempt) -> None:
        self._refuted, self._waiting = attempt.threshold, attempt
        budget = self._setting.budget
        if budget.spent() > self._reported + REPORT_EVERY * budget.wall_seconds:
            self._report()

    def _report(self) -> None:
        """Report the certificate of the largest threshold refuted."""
        if self._waiting is not None:
            instance, payload = self._setting.instance, self._waiting.payload()
            bound = self._waiting.threshold + 1
            self._best.bound(Certificate.of(instance, KIND, bound, payload, self._producer))
            self._waiting = None
            self._reported = self._setting.budget.spent()
