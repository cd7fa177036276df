"""Geometric means of ratios by data set, method and value, and how failures are charged in them."""

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.grouping import groups as groups_of

COLUMNS = ["instances", "delivered", "mean", "common", "common_mean"]


def mean_ratios(ratios: pd.DataFrame, groups: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return geometric means over the instances of each data set (and of all) and value.

    A method that delivered nothing on an instance has no ratio there, and no number could be
    charged that would not be arbitrary. So the mean is over the instances on which the method
    delivered, their number stands beside it, and a second mean is over the instances on which
    *every* method of the table delivered, methods that delivered nowhere in the group left out.

    Parameters
    ----------
    ratios
        Positive ratios, one row per instance (by hash) and one column per method; NaN for none.
    groups
        `dataset` and the parameter of each instance that has a reference, indexed by hash.
    by
        The parameter's column.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, that of the parameter, `instances` (in the group), `delivered`
        (of these, by the method), `mean` over them, `common` (on which every method delivered),
        `common_mean`.
    """
    rows = []
    for dataset, value, group in groups_of(groups, by):
        members = ratios.reindex(group.index)
        everywhere = members.dropna(axis=1, how="all").dropna()
        for method in members.columns:
            delivered = members[method].dropna()
            numbers = (
                len(members),
                len(delivered),
                geometric_mean(delivered),
                len(everywhere),
                geometric_mean(everywhere.get(method, [])),
            )
            rows.append((dataset, method, value, *numbers))
    return pd.DataFrame(rows, columns=["dataset", "method", by, *COLUMNS])
