"""Primal, dual and primal-dual integrals: how good a method is at any time, not only at the end."""

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def in_time(tasks: Places, seconds: Floats, limits: Floats) -> Places:
    """Return the places of the events before their task's limit, by task and time.

    Parameters
    ----------
    tasks
        The task of each event, as its place in `limits`.
    """
    before = np.flatnonzero(seconds < limits[tasks])
    return before[np.lexsort((seconds[before], tasks[before]))]


def smallest_so_far(tasks: Places, values: Floats) -> Floats:
    """Return, for each event, the smallest value of its task up to it; NaN is no value."""
    known = pd.Series(np.where(np.isnan(values), np.inf, values))
    return np.asarray(known.groupby(tasks).cummin(), np.float64)


def mean_heights(tasks: Places, seconds: Floats, heights: Floats, limits: Floats) -> Floats:
    """Return the mean of each task's step function from 0 to its limit.

    Parameters
    ----------
    tasks, seconds, heights
        Of each step, in the order of `in_time`: the function has this height from then on, and is
        1 before the first step of its task.
    limits
        Of each task, above 0.
    """
    is_first = np.diff(tasks, prepend=-1) != 0
    previous = np.where(is_first, 0.0, np.roll(seconds, 1))
    height = np.where(is_first, 1.0, np.roll(heights, 1))
    # Adds the steps of a task in their order.
    area = np.bincount(tasks, height * (seconds - previous), minlength=len(limits))
    is_last = np.roll(is_first, -1)
    now, last = np.zeros(len(limits)), np.ones(len(limits))
    now[tasks[is_last]], last[tasks[is_last]] = seconds[is_last], heights[is_last]
    means: Floats = (area + last * (limits - now)) / limits
    return means


def mean_primal_gaps(
    tasks: Places, seconds: Floats, costs: Floats, best: Floats, limits: Floats
) -> Floats:
    """Return each task's primal integral divided by its limit: 0 is best, 1 is worst.

    The integrand is the primal gap ``(U - best) / U`` of the best solution U so far, and 1 before
    there is one ([BERTHOLD13]).

    Parameters
    ----------
    tasks, seconds, costs
        Of each event, in any order: its task, as the place in `limits`; seconds since the task's
        start; and a cost above 0.
    best
        Of each task, above 0: the optimum, or the best cost known of the instance.
    limits
        Of each task, in seconds, above 0.
    """
    gaps = np.maximum(0.0, (costs - best[tasks]) / costs)
    return _means_of_smallest(tasks, seconds, gaps, limits)


def mean_dual_gaps(
    tasks: Places, seconds: Floats, bounds: Floats, best: Floats, limits: Floats
) -> Floats:
    """Return each task's dual integral divided by its limit: 0 is best, 1 is worst.

    The integrand is ``(best - L) / best`` of the best bound L so far, at least 0, and 1 before
    there is one: the same, with bounds.
    """
    gaps = np.minimum(1.0, np.maximum(0.0, (best[tasks] - bounds) / best[tasks]))
    return _means_of_smallest(tasks, seconds, gaps, limits)


def _means_of_smallest(tasks: Places, seconds: Floats, gaps: Floats, limits: Floats) -> Floats:
    """Return the mean over time of each task's smallest gap so far, from 1 on."""
    order = in_time(tasks, seconds, limits)
    tasks, seconds, gaps = tasks[order], seconds[order], gaps[order]
    return mean_heights(tasks, seconds, np.minimum(1.0, smallest_so_far(tasks, gaps)), limits)


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
    # A cost of 0 has no gap but 1: whatever is below it is no share of it.
    apart = both & (upper > np.maximum(lower, 0.0))
    gaps[apart] = np.minimum(1.0, (upper[apart] - lower[apart]) / upper[apart])
    return gaps
