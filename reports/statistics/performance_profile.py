"""Performance profiles (E. D. Dolan, J. J. Moré: Math. Program. 91, 2002, Equation 2.1)."""

import numpy as np
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
    steps = [pd.DataFrame(columns=["method", "factor", "fraction"])]
    for method in ratios.columns if len(ratios) else ():
        factors = np.sort(ratios[method].dropna().to_numpy(np.float64))
        rises = np.union1d(factors, 1.0)
        within = np.searchsorted(factors, rises, side="right") / len(ratios)
        steps.append(pd.DataFrame({"method": str(method), "factor": rises, "fraction": within}))
    return pd.concat(steps[1:] or steps, ignore_index=True)
