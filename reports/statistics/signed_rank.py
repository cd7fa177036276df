"""Wilcoxon's signed-rank test, and what becomes of its p-values where many pairs are tested."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

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
    """Return the share of all signs whose rank sum is at least as far from the middle, at most 1.

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
    """Return p-values such that the chance of any false finding among all is kept.

    The procedure of [HOLM79]. NaN stays NaN, and counts as no test.
    """
    tested = sorted((p, at) for at, p in enumerate(p_values) if p == p)
    found, largest = list(p_values), 0.0
    for rank, (p, at) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        found[at] = largest
    return found
