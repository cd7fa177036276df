"""Geometric means of ratios by data set, method and k, and how failures are charged in them."""

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.tasks import ALL

COLUMNS = ["dataset", "method", "k", "instances", "delivered", "mean", "common", "common_mean"]


def mean_ratios(ratios: pd.DataFrame, groups: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means over the instances of each data set (and of all) and k.

    A method that delivered nothing on an instance has no ratio there, and no number could be
    charged that would not be arbitrary. So the mean is over the instances on which the method
    delivered, their number stands beside it, and a second mean is over the instances on which
    *every* method of the table delivered, methods that delivered nowhere in the group left out.

    Parameters
    ----------
    ratios
        Positive ratios, a row an instance (by hash) and a column a method; NaN for none.
    groups
        `dataset` and `k` of each instance that has a reference, indexed by hash.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, `k`, `instances` (in the group), `delivered` (of these, by the
        method), `mean` over them, `common` (on which every method delivered), `common_mean`.
    """
    both = pd.concat([groups.assign(dataset=ALL), groups])
    rows = []
    for (dataset, k), group in both.groupby(["dataset", "k"]):
        members = ratios.reindex(group.index)
        everywhere = members.dropna(axis=1, how="all").dropna()
        for method in members.columns:
            delivered = members[method].dropna()
            rows.append(
                (
                    dataset,
                    method,
                    k,
                    len(members),
                    len(delivered),
                    geometric_mean(delivered),
                    len(everywhere),
                    geometric_mean(everywhere.get(method, [])),
                )
            )
    return pd.DataFrame(rows, columns=COLUMNS)
