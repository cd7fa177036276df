"""Wilcoxon's signed-rank test, and what becomes of its p-values where many pairs are tested."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def signed_rank_p(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the two-sided p-value that paired positive values have the same distribution.

    The test is on differences of logarithms, so that it does not depend on the instances' units
    ([WILCOXON45]; of methods over data sets, [DEMSAR06], Section 3.1.3). Equal pairs are left out.
    The distribution is exact up to 50 pairs without ties. NaN without pairs, 1 if all are equal.
    """
    from scipy.stats import wilcoxon

    differences = np.log(np.asarray(one, np.float64)) - np.log(np.asarray(other, np.float64))
    if differences.size == 0:
        return float("nan")
    differences = differences[differences != 0.0]
    if differences.size == 0:
        return 1.0
    return float(wilcoxon(differences).pvalue)


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
