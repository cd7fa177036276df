"""Means and their intervals, integrals over time, and comparisons of methods."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd


def geometric_mean(values: npt.ArrayLike, shift: float = 0.0) -> float:
    """Return ``exp(mean(log(x + shift))) - shift``, NaN for no values.

    Ratios are averaged geometrically because the result does not depend on which side is the
    reference (P. J. Fleming, J. J. Wallace: "How not to lie with statistics: the correct way to
    summarize benchmark results", CACM 29(3), 1986). For times, a shift keeps tasks of a few
    milliseconds from deciding the mean (T. Achterberg: "Constraint Integer Programming", PhD
    thesis, TU Berlin, 2007, Appendix A.3).

    Examples
    --------
    >>> round(geometric_mean([1.0, 4.0]), 3)
    2.0
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        return float("nan")
    return float(np.exp(np.mean(np.log(array + shift))) - shift)


@dataclass(frozen=True)
class Bootstrap:
    """The settings by which instances are resampled for an interval.

    Attributes
    ----------
    resamples
        Number of resamples: the more, the less the interval depends on the seed.
    confidence
        Share of the resamples whose mean is within the interval.
    seed
        Seed of the random numbers; a fixed one gives the same report for the same results.
    least
        Fewer ratios have no interval: resamples of two have three means in all.
    """

    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 1
    least: int = 3


# Numbers drawn at a time.
LARGEST_PART = 1 << 18

# Tables of one report ask for the same number of instances again and again. What was drawn for so
# many is kept: 2,000 resamples of 16-bit integers, 16 MB.
MOST_KEPT = 4096

Counts: TypeAlias = npt.NDArray[np.uint16]


def geometric_mean_interval(
    ratios: npt.ArrayLike, bootstrap: Bootstrap = Bootstrap()
) -> tuple[float, float]:
    """Return the percentile interval of the geometric mean, NaN for too few ratios.

    The instances, one ratio each, are resampled with replacement
    (B. Efron, R. Tibshirani: "An Introduction to the Bootstrap", 1993, Section 13.3). It says how
    much the mean depends on the choice of instances, not on seeds, which are averaged before.
    """
    column = pd.DataFrame({"": np.asarray(ratios, np.float64)})
    return geometric_mean_intervals(column, bootstrap)[""]


def geometric_mean_intervals(
    ratios: pd.DataFrame, bootstrap: Bootstrap = Bootstrap()
) -> dict[str, tuple[float, float]]:
    """Return the interval of each column, e.g. of a method, over the instances of the rows.

    All columns are resampled in the same way, as each alone would be.
    """
    logs = np.log(ratios.to_numpy(np.float64))
    size = len(logs)
    if size < bootstrap.least:
        return dict.fromkeys(ratios.columns, (float("nan"), float("nan")))
    columns = np.ascontiguousarray(logs.T)
    # One thread: those of a matrix product take longer to wait for each other.
    means = [
        np.einsum("ij,kj->ik", times.astype(np.float64), columns) / size
        for times in (_kept if size <= MOST_KEPT else _resamples)(size, bootstrap)
    ]
    tail = (1 - bootstrap.confidence) / 2
    ends = np.exp(np.quantile(np.concatenate(means), (tail, 1 - tail), axis=0))
    return {name: (float(low), float(high)) for name, low, high in zip(ratios, *ends, strict=True)}


@lru_cache(maxsize=4)
def _kept(size: int, bootstrap: Bootstrap) -> tuple[Counts, ...]:
    return tuple(_resamples(size, bootstrap))


def _resamples(size: int, bootstrap: Bootstrap) -> Iterator[Counts]:
    """Yield resamples, a row each: how often each instance is drawn, which decides the mean."""
    random = np.random.default_rng(bootstrap.seed)
    for part in _parts(size, bootstrap.resamples):
        drawn = random.integers(size, size=(part, size))
        yield np.stack([np.bincount(one, minlength=size) for one in drawn]).astype(np.uint16)


def _parts(size: int, resamples: int) -> list[int]:
    """Return how many resamples to draw at a time, so that they take a few megabytes."""
    most = max(1, LARGEST_PART // size)
    return [min(most, resamples - done) for done in range(0, resamples, most)]


Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def in_time(tasks: Places, seconds: Floats, limits: Floats) -> Places:
    """Return the places of the events before their task's limit, by task and time."""
    before = np.flatnonzero(seconds < limits[tasks])
    return before[np.lexsort((seconds[before], tasks[before]))]


def smallest_so_far(tasks: Places, values: Floats) -> Floats:
    """Return, for each event, the smallest value of its task up to it; NaN is no value."""
    known = pd.Series(np.where(np.isnan(values), np.inf, values))
    return np.asarray(known.groupby(tasks).cummin(), np.float64)


def mean_heights(tasks: Places, seconds: Floats, heights: Floats, limits: Floats) -> Floats:
    """Return the mean of each task's step function from 0 to its limit."""
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


def wins_and_ties(costs: pd.DataFrame, tolerance: float = 0.0) -> pd.DataFrame:
    """Return how often each method has the smallest cost, alone (`wins`) or not (`ties`)."""
    smallest = costs.min(axis=1)
    best = costs.le(smallest + tolerance * smallest.abs(), axis=0)
    alone = best.sum(axis=1) == 1
    return pd.DataFrame({"wins": best[alone].sum(), "ties": best[~alone].sum()})


PENALTY = 10.0


def par10(seconds: npt.ArrayLike, limits: npt.ArrayLike, delivered: npt.ArrayLike) -> float:
    """Return the mean time, where a task that did not deliver counts with ten times its limit.

    NaN for no tasks ([PARAMILS09]).
    """
    taken, allowed = np.asarray(seconds, np.float64), np.asarray(limits, np.float64)
    if taken.size == 0:
        return float("nan")
    return float(np.where(np.asarray(delivered, np.bool_), taken, PENALTY * allowed).mean())


def performance_profile(costs: pd.DataFrame) -> pd.DataFrame:
    """Return each method's fraction of instances that it solves within a factor of the best."""
    solved = costs.dropna(how="all")
    ratios = solved.div(solved.min(axis=1), axis=0)
    steps = [pd.DataFrame(columns=["method", "factor", "fraction"])]
    for method in ratios.columns if len(ratios) else ():
        factors = np.sort(ratios[method].dropna().to_numpy(np.float64))
        rises = np.union1d(factors, 1.0)
        within = np.searchsorted(factors, rises, side="right") / len(ratios)
        steps.append(pd.DataFrame({"method": str(method), "factor": rises, "fraction": within}))
    return pd.concat(steps[1:] or steps, ignore_index=True)


@dataclass(frozen=True)
class Contribution:
    """The contribution of a method to the virtual best.

    Attributes
    ----------
    best_share
        Share of the instances on which the method is as good, within the tolerance.
    only_best
        Number of instances on which no other method is as good, within the tolerance.
    loss
        Geometric mean of the virtual best without the method over that with it, minus 1, over the
        instances that other methods solve too; NaN without any.
    """

    best_share: float
    only_best: int
    loss: float


def contributions(costs: pd.DataFrame, tolerance: float) -> dict[str, Contribution]:
    """Return the marginal contribution of each method.

    As in [XU12], with geometric means of cost quotients in place of solved instances.
    """
    solved = costs.dropna(how="all")
    best = solved.min(axis=1)
    found = {}
    for method in solved.columns:
        others = solved.drop(columns=method).min(axis=1)
        equals = solved[method] <= best * (1 + tolerance)
        alone = equals & ~(others <= best * (1 + tolerance))
        quotients = (others / best).dropna()
        found[str(method)] = Contribution(
            float(equals.mean()) if len(solved) else float("nan"),
            int(alone.sum()),
            float(np.exp(np.log(quotients).mean()) - 1) if len(quotients) else float("nan"),
        )
    return found


# Up to so many pairs, the distribution is exact: without ties, and with them.
MOST_EXACT, MOST_EXACT_WITH_TIES = 50, 13


def signed_rank_p(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the two-sided p-value that paired positive values have the same distribution.

    The test is on differences of logarithms, so that it does not depend on the instances' units
    ([WILCOXON45]; of methods over data sets, [DEMSAR06], Section 3.1.3). Equal pairs are left out.
    The distribution is exact up to 50 pairs without ties and 13 with them, and normal above. NaN
    without pairs, 1 if all are equal. `scipy.stats.wilcoxon` says the same, but with ties it goes
    through all signs one after another: 2.5 s for 13 pairs, and a report has hundreds of tests.
    """
    differences = np.log(np.asarray(one, np.float64)) - np.log(np.asarray(other, np.float64))
    if differences.size == 0:
        return float("nan")
    differences = differences[differences != 0.0]
    if differences.size == 0:
        return 1.0
    _, places, sizes = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    # Equal sizes have the mean rank, and ranks are doubled, so that all are integers.
    doubled = (2 * np.cumsum(sizes) - sizes + 1)[places]
    above = int(doubled[differences > 0].sum())
    most = MOST_EXACT if sizes.max() == 1 else MOST_EXACT_WITH_TIES
    if differences.size <= most:
        return _exact_p(doubled, above)
    # What is expected of the rank sum, and its variance, less where ranks are tied.
    n = differences.size
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((sizes**3 - sizes).sum()) / 48
    z = (above / 2 - n * (n + 1) / 4) / math.sqrt(variance)
    return math.erfc(abs(z) / math.sqrt(2))


def _exact_p(doubled: npt.NDArray[np.int64], above: int) -> float:
    """Return the exact two-sided p-value of a signed-rank sum."""
    # How many choices of positive differences have each sum.
    ways = np.ones(1, np.int64)
    for rank in doubled.tolist():
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    tail = min(int(ways[: above + 1].sum()), int(ways[above:].sum()))
    share: float = 2 * tail / 2 ** len(doubled)
    return min(1.0, share)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple testing (Holm), in the same order.

    The procedure of [HOLM79]. NaN stays NaN, and counts as no test.
    """
    tested = sorted((p, at) for at, p in enumerate(p_values) if p == p)
    found, largest = list(p_values), 0.0
    for rank, (p, at) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        found[at] = largest
    return found
