"""Reports lower bounds on a solver's word, without rounding up."""

import math

from boundmark.problems.certificate import Claim
from boundmark.problems.method import Progress

# A solver's optimum may lie above the true one by its tolerances.
RELATIVE_TOLERANCE = 1e-9
ABSOLUTE_TOLERANCE = 1e-6


def claim(kind: str, ticks: float, progress: Progress) -> None:
    """Report a bound unless it is infinite; it is never rounded up.

    Optima are integers, so a bound that exceeds an integer by no more than tolerances is meant to
    be that integer.
    """
    if not math.isfinite(ticks):
        return
    integer = math.floor(ticks)
    excess = ticks - integer
    bound = integer if excess <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * integer else ticks
    progress.bound(Claim(kind, float(bound)))
