"""Primal and dual integrals: how good solutions, or bounds, are over time."""

from collections.abc import Iterable


def mean_primal_gap(
    solutions: Iterable[tuple[float, float]], best: float, time_limit: float
) -> float:
    """Return the primal integral divided by the time limit: 0 is best, 1 is worst.

    The integrand is the primal gap ``(U - best) / U`` of the best solution U so far, and 1 before
    there is one ([BERTHOLD13]).

    Parameters
    ----------
    solutions
        Pairs of seconds since the start and cost above 0, in any order.
    best
        The optimum, or the best cost known of the instance.
    """
    gaps = [(seconds, max(0.0, (value - best) / value)) for seconds, value in solutions]
    return _mean_of_smallest(gaps, time_limit)


def mean_dual_gap(bounds: Iterable[tuple[float, float]], best: float, time_limit: float) -> float:
    """Return the dual integral divided by the time limit: 0 is best, 1 is worst.

    The integrand is ``(best - L) / best`` of the best bound L so far, at least 0, and 1 before
    there is one: the same, with bounds.
    """
    gaps = [(seconds, min(1.0, max(0.0, (best - value) / best))) for seconds, value in bounds]
    return _mean_of_smallest(gaps, time_limit)


def _mean_of_smallest(gaps: Iterable[tuple[float, float]], time_limit: float) -> float:
    """Return the mean over time of the smallest gap so far, from 1 on."""
    area, now, gap = 0.0, 0.0, 1.0
    for seconds, value in sorted(gaps):
        if seconds >= time_limit:
            break
        area += gap * (seconds - now)
        now, gap = seconds, min(gap, value)
    return (area + gap * (time_limit - now)) / time_limit
