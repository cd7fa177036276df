"""How much is left to prove: the headline statistic by data set and value of a parameter."""

import pandas as pd

from boundmark.reports.statistics.bootstrap import geometric_mean_interval
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.grouping import groups

COLUMNS = [
    "instances",
    "bounded",
    "mean_gap",
    "mean_gap_low",
    "mean_gap_high",
    "mean_quality",
    "optimal",
]


def gap_by_parameter(certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the mean gap by data set (and all) and value.

    Parameters
    ----------
    by
        A parameter's column.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, that of the parameter, `instances`; `bounded`, those with a gap, over
        which the means are; `mean_gap`, the geometric mean of UB/LB minus 1, with its bootstrap
        interval `mean_gap_low` to `mean_gap_high`; `mean_quality`, the geometric mean of LB/UB;
        `optimal`, the instances whose best solution is proven optimal.
    """
    rows = []
    for dataset, value, group in groups(certified, by):
        ratios = 1 + group["gap"].dropna()
        mean = geometric_mean(ratios)
        low, high = geometric_mean_interval(ratios)
        optimal = int(group["optimal"].sum())
        numbers = (len(group), len(ratios), mean - 1, low - 1, high - 1, 1 / mean, optimal)
        rows.append((dataset, value, *numbers))
    return pd.DataFrame(rows, columns=["dataset", by, *COLUMNS])
