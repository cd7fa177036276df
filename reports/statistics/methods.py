"""Statistics that compare methods instance by instance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd


def wins_and_ties(costs: pd.DataFrame, tolerance: float = 0.0) -> pd.DataFrame:
    """Return how often each method has the smallest cost, alone (`wins`) or not (`ties`).

    Parameters
    ----------
    costs
        One row per instance and one column per method; NaN where a method failed.
    tolerance
        Fraction by which a cost may exceed the smallest one, above 0, and count as equal.
    """
    smallest = costs.min(axis=1)
    best = costs.le(smallest + tolerance * smallest.abs(), axis=0)
    alone = best.sum(axis=1) == 1
    return pd.DataFrame({"wins": best[alone].sum(), "ties": best[~alone].sum()})


PENALTY = 10.0


def par10(seconds: npt.ArrayLike, limits: npt.ArrayLike, delivered: npt.ArrayLike) -> float:
    """Return the mean time, where a task that did not deliver counts with ten times its limit.

    NaN for no tasks ([PARAMILS09]).

    Parameters
    ----------
    seconds, limits, delivered
        Of each task; what it took, what it was given, and whether it delivered.
    """
    taken, allowed = np.asarray(seconds, np.float64), np.asarray(limits, np.float64)
    if taken.size == 0:
        return float("nan")
    return float(np.where(np.asarray(delivered, np.bool_), taken, PENALTY * allowed).mean())


def performance_profile(costs: pd.DataFrame) -> pd.DataFrame:
    """Return for each method the fraction of instances that it solves within a factor of the best.

    Parameters
    ----------
    costs
        Positive costs, one row per instance and one column per method; NaN where a method failed,
        which counts as never within any factor. Rows without any cost are no instances.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `factor`, `fraction`: the points at which each step function rises, and
        its value from there on. Every method starts at factor 1.
    """
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

    Parameters
    ----------
    costs
        Positive costs, one row per instance and one column per method; NaN where a method failed.
        Rows without any cost are no instances.
    tolerance
        Fraction above the best cost that counts as equal to it.
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
    without pairs, 1 if all are equal. `scipy.stats.wilcoxon` says the same, after an import that
    takes longer than all tests of a report.
    """
    differences = np.log(np.asarray(one, np.float64)) - np.log(np.asarray(other, np.float64))
    if differences.size == 0:
        return float("nan")
    differences = differences[differences != 0.0]
    if differences.size == 0:
        return 1.0
    _, places, sizes = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    # Of equal sizes the mean rank, and twice that, so that all are integers.
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
    """Return the exact two-sided p-value of a signed-rank sum.

    Parameters
    ----------
    doubled
        Twice the ranks.
    above
        Twice the sum of the ranks of positive differences.
    """
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
