"""Performance profiles (E. D. Dolan, J. J. Moré: Math. Program. 91, 2002, Equation 2.1)."""

from bisect import bisect_right

import pandas as pd


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
    rows: list[tuple[str, float, float]] = []
    for method in ratios.columns if len(ratios) else ():
        factors = sorted(ratios[method].dropna())
        rows += [
            (str(method), factor, bisect_right(factors, factor) / len(ratios))
            for factor in sorted({1.0, *factors})
        ]
    return pd.DataFrame(rows, columns=["method", "factor", "fraction"])
