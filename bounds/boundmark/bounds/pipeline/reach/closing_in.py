"""Thresholds between what has been refuted and the best partition, with more and more effort.

At each threshold, an attempt is made to refute it, and another to meet it stage by stage. Both may
fail. Such a threshold stands until the next round, in which steps branch more often.
"""

from collections.abc import Iterator

from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.reach.attempt import KIND, Attempt, Setting
from boundmark.bounds.pipeline.reach.greedy import Greedy
from boundmark.bounds.pipeline.reach.prefixes import Side
from boundmark.bounds.pipeline.reach.program import OutOfTimeError
from boundmark.problems.certificate import Certificate

# Branchings in each step, round by round, and how close the refuted threshold is to come to the
# least one that stands, as a part of it.
ROUNDS = (
    *((0, 0.003), (25, 0.002), (100, 0.001), (400, 0.0005), (1600, 0.0002), (6400, 0.0001)),
    (25_600, 0.0),
)

# When bounds are this close, the threshold just below the best partition's cost is tried first,
# from both ends.
NEARLY_CLOSED = 0.01

# Branchings of a stage of a partition.
MOST_GREEDY_BRANCHINGS = 200

# Part of the budget between two certificates.
REPORT_EVERY = 0.1


class ClosingIn:
    """Raises the bound and lowers the cost of the best partition until they meet or time is up."""

    def __init__(self, setting: Setting, best: Best, producer: str) -> None:
        self._setting, self._best, self._producer = setting, best, producer
        self._refuted = int(best.certified) - 1
        self._waiting: Attempt | None = None
        self._reported = setting.budget.spent()
        self._sides: Iterator[Side]

    def run(self) -> None:
        """Go through the rounds."""
        try:
            for branchings, precision in ROUNDS:
                if self._is_closed:
                    break
                self._round(branchings, precision)
        except OutOfTimeError:
            pass
        self._report()

    @property
    def _is_closed(self) -> bool:
        return self._refuted >= self._best.objective - 1

    def _round(self, branchings: int, precision: float) -> None:
        best, stands, is_first = self._best, self._best.objective, True
        while not self._is_closed:
            high = int(min(stands, best.objective))
            width = high - self._refuted
            if width <= max(1, int(precision * high)) and (width <= 1 or not is_first):
                break
            is_narrow = best.objective - self._refuted <= NEARLY_CLOSED * best.objective
            if is_narrow and is_first:
                threshold = high - 1
            else:
                threshold = self._refuted + max(1, width // 2)
            is_first = False
            if not self._decide(threshold, branchings, is_narrow):
                stands = threshold

    def _decide(self, threshold: int, branchings: int, is_narrow: bool) -> bool:
        """Try to refute a threshold, or else to meet it; return whether either has come off."""
        amounts = self._setting.amounts(threshold)
        if amounts is None:
            raise AssertionError("some node does not fit at a threshold that is not refuted")
        attempt = Attempt(self._setting, threshold, amounts)
        is_refuted = attempt.is_refuted or attempt.forward(branchings)
        if not is_refuted and is_narrow and branchings:
            is_refuted = attempt.backward(branchings) or attempt.finish(branchings, self._best)
        if is_refuted:
            self._refuted, self._waiting = threshold, attempt
            if self._setting.budget.spent() > self._reported + (
                REPORT_EVERY * self._setting.budget.wall_seconds
            ):
                self._report()
            return True
        if branchings:
            limit = min(branchings, MOST_GREEDY_BRANCHINGS)
            for side in ("upper", "lower"):
                if self._best.objective <= threshold:
                    break
                partition = Greedy(self._setting, threshold, amounts, side, limit).partition()
                if partition is not None:
                    self._best.solution(partition)
        return self._best.objective <= threshold

    def _report(self) -> None:
        """Report the certificate of the largest threshold refuted."""
        if self._waiting is not None:
            instance, payload = self._setting.instance, self._waiting.payload()
            bound = self._waiting.threshold + 1
            self._best.bound(Certificate.of(instance, KIND, bound, payload, self._producer))
            self._waiting = None
            self._reported = self._setting.budget.spent()
