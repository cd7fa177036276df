"""Primal-dual integrals: how good a method is at any time, not only at the end."""

import numpy as np
import numpy.typing as npt

from boundmark.reports.statistics.steps import (
    Floats,
    Places,
    in_time,
    mean_heights,
    smallest_so_far,
)


def mean_gaps_over_time(
    tasks: Places,
    seconds: Floats,
    values: Floats,
    are_solutions: npt.NDArray[np.bool_],
    limits: Floats,
) -> Floats:
    """Return each task's primal-dual integral divided by its limit: 0 is best, 1 is worst.

    The integrand at a time is ``(U - L) / U`` with the best solution U and the best bound L so far,
    within [0, 1], and 1 while either is missing (T. Berthold: "Measuring the impact of primal
    heuristics", Oper. Res. Lett. 41(6), 2013, Section 3, with the dual bound in place of the
    optimum as in SCIP's primal-dual integral).

    Parameters
    ----------
    tasks, seconds, values, are_solutions
        Of each event, in any order: its task, as the place in `limits`; seconds since the task's
        start, where what comes after the limit does not count; cost or bound; and which it is.
    limits
        Of each task, in seconds, above 0.
    """
    order = in_time(tasks, seconds, limits)
    tasks, seconds, values = tasks[order], seconds[order], values[order]
    solves = are_solutions[order]
    upper = smallest_so_far(tasks, np.where(solves, values, np.inf))
    lower = -smallest_so_far(tasks, np.where(solves, np.inf, -values))
    return mean_heights(tasks, seconds, _gaps(upper, lower), limits)


def _gaps(upper: Floats, lower: Floats) -> Floats:
    gaps = np.ones(len(upper))
    both = np.isfinite(upper) & np.isfinite(lower)
    gaps[both & (upper <= lower)] = 0.0
    apart = both & (upper > lower)
    gaps[apart] = np.minimum(1.0, (upper[apart] - lower[apart]) / upper[apart])
    return gaps
