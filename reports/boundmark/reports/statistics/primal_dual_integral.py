"""Primal-dual integrals: how good a method is at any time, not only at the end."""

import math
from collections.abc import Iterable


def mean_gap_over_time(
    solutions: Iterable[tuple[float, float]],
    bounds: Iterable[tuple[float, float]],
    time_limit: float,
) -> float:
    """Return the primal-dual integral divided by the time limit: 0 is best, 1 is worst.

    The integrand at a time is ``(U - L) / U`` with the best solution U and the best bound L so far,
    within [0, 1], and 1 while either is missing (T. Berthold: "Measuring the impact of primal
    heuristics", Oper. Res. Lett. 41(6), 2013, Section 3, with the dual bound in place of the
    optimum as in SCIP's primal-dual integral).

    Parameters
    ----------
    solutions, bounds
        Pairs of seconds since the start and value, in any order; what comes after the limit does
        not count.
    """
    events = [(seconds, True, value) for seconds, value in solutions]
    events += [(seconds, False, value) for seconds, value in bounds]
    upper, lower = math.inf, -math.inf
    area = now = 0.0
    gap = 1.0
    for seconds, is_solution, value in sorted(events):
        if seconds >= time_limit:
            break
        area += gap * (seconds - now)
        now = seconds
        if is_solution:
            upper = min(upper, value)
        else:
            lower = max(lower, value)
        gap = _gap(upper, lower)
    return (area + gap * (time_limit - now)) / time_limit


def _gap(upper: float, lower: float) -> float:
    if math.isinf(upper) or math.isinf(lower):
        return 1.0
    if upper <= lower:
        return 0.0
    return min(1.0, (upper - lower) / upper)
