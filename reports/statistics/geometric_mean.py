"""Geometric means, plain for ratios and shifted for times."""

import numpy as np
import numpy.typing as npt


def geometric_mean(values: npt.ArrayLike, shift: float = 0.0) -> float:
    """Return ``exp(mean(log(x + shift))) - shift``, NaN for no values.

    Ratios are averaged geometrically because the result does not depend on which side is the
    reference (P. J. Fleming, J. J. Wallace: "How not to lie with statistics: the correct way to
    summarize benchmark results", CACM 29(3), 1986). For times, a shift keeps tasks of a few
    milliseconds from deciding the mean (T. Achterberg: "Constraint Integer Programming", PhD
    thesis, TU Berlin, 2007, Appendix A.3).

    Parameters
    ----------
    values
        Positive numbers; with a shift, non-negative ones.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        return float("nan")
    return float(np.exp(np.mean(np.log(array + shift))) - shift)
