"""Primal and dual integrals: how good solutions, or bounds, are over time."""

import numpy as np

from boundmark.reports.statistics.steps import (
    Floats,
    Places,
    in_time,
    mean_heights,
    smallest_so_far,
)


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
