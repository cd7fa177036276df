"""How much is left to prove: the headline statistic by data set and k."""

import pandas as pd

from boundmark.reports.statistics.bootstrap import geometric_mean_interval
from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.tasks import ALL

COLUMNS = [
    "dataset",
    "k",
    "instances",
    "bounded",
    "mean_gap",
    "mean_gap_low",
    "mean_gap_high",
    "mean_quality",
    "optimal",
]


def gap_by_k(certified: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gap by data set (and all) and k.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `k`, `instances`; `bounded`, those with a gap, over which the means are;
        `mean_gap`, the geometric mean of UB/LB minus 1, with its bootstrap interval
        `mean_gap_low` to `mean_gap_high`; `mean_quality`, the geometric mean of LB/UB; `optimal`,
        the instances whose best solution is proven optimal.
    """
    both = pd.concat([certified.assign(dataset=ALL), certified])
    rows = []
    for (dataset, k), group in both.groupby(["dataset", "k"]):
        ratios = 1 + group["gap"].dropna()
        mean = geometric_mean(ratios)
        low, high = geometric_mean_interval(ratios)
        optimal = int(group["optimal"].sum())
        row = (dataset, k, len(group), len(ratios), mean - 1, low - 1, high - 1, 1 / mean, optimal)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)
