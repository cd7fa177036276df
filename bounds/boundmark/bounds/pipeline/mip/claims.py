"""Lower bounds on a solver's word."""

import math

from boundmark.problems.certificate import Claim
from boundmark.problems.method import Progress

# A solver's optimum may lie above the true one by its tolerances.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-6


class Claims:
    """Reports a method's claims: never rounded up, each better than the last.

    Optima are integers, so a bound that exceeds an integer by no more than tolerances is meant to
    be that integer.
    """

    def __init__(self, kind: str, progress: Progress) -> None:
        self._kind = kind
        self._progress = progress
        self._best = -math.inf

    def report(self, ticks: float) -> None:
        """Report a bound unless it is infinite or no improvement."""
        if not math.isfinite(ticks):
            return
        integer = math.floor(ticks)
        excess = ticks - integer
        bound = integer if excess <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * integer else ticks
        if bound > self._best:
            self._best = bound
            self._progress.bound(Claim(self._kind, float(bound)))
