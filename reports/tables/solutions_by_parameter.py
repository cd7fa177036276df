"""Solutions relative to a bound of their instance (the form of [MTPP24], Table 2)."""

import pandas as pd

from boundmark.reports.statistics.wins import wins_and_ties
from boundmark.reports.tables.grouping import groups, per_instance, status_counts
from boundmark.reports.tables.ratios import mean_ratios


def solutions_by_parameter(
    tasks: pd.DataFrame, certified: pd.DataFrame, reference: "pd.Series[float]", by: str
) -> pd.DataFrame:
    """Return geometric means of UB/L by data set, method and value, with wins and ties.

    Wins and ties are counted over the group's instances, whether or not they have an L.

    Parameters
    ----------
    reference
        The bound L of each instance that has one, above 0, by instance hash.
    by
        A parameter's column.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, that of the parameter, those of `mean_ratios`, `wins`, `ties`,
        and numbers of tasks by status.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    members = certified.set_index("instance_sha256")[["dataset", by]]
    ratios = costs.where(costs > 0).div(reference, axis=0)
    means = mean_ratios(ratios, members.loc[members.index.isin(reference.index)], by)
    key = ["dataset", "method", by]
    table = status_counts(solving, by).merge(means, on=key, how="left")
    wins = [
        wins_and_ties(costs.reindex(group.index))
        .rename_axis(index="method")
        .reset_index()
        .assign(**{"dataset": dataset, by: value})
        for dataset, value, group in groups(members, by)
    ]
    return table.merge(pd.concat(wins), on=key, how="left") if wins else table


def best_certified_bounds(certified: pd.DataFrame) -> "pd.Series[float]":
    """Return the best certified bound of each instance that has one above 0, by instance hash."""
    bounds = certified.set_index("instance_sha256")["bound"].astype("float64")
    return bounds[bounds > 0]
