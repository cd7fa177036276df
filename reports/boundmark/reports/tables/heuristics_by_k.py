"""Solutions relative to the simple lower bound (the form of papers/mtpp, Table 2)."""

import pandas as pd

from boundmark.reports.statistics.wins import wins_and_ties
from boundmark.reports.tables.ratios import mean_ratios
from boundmark.reports.tables.tasks import ALL, per_instance, status_counts

SIMPLE_METHODS = ("max-work", "mean-work")


def heuristics_by_k(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means of UB/L by data set, method and k, with wins and ties.

    L is the instance's `reference_bounds`. Wins and ties are counted over the group's instances,
    whether or not they have an L.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, `k`, those of `mean_ratios`, `wins`, `ties`, and numbers of
        tasks by status.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    reference = reference_bounds(tasks, certified)
    groups = certified.set_index("instance_sha256")[["dataset", "k"]]
    ratios = costs.where(costs > 0).div(reference["bound"], axis=0)
    means = mean_ratios(ratios, groups.loc[groups.index.isin(reference.index)])
    both = pd.concat([groups.assign(dataset=ALL), groups])
    wins = {
        group: wins_and_ties(costs.reindex(members.index))
        for group, members in both.groupby(["dataset", "k"])
    }
    key = ["dataset", "method", "k"]
    table = status_counts(solving).merge(means, on=key, how="left")
    if not wins:
        return table
    counts = pd.concat(wins, names=["dataset", "k", "method"]).reset_index()
    return table.merge(counts, on=key, how="left")


def reference_bounds(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the bound L that solutions are divided by, for each instance that has one.

    L is the simple lower bound max(max work, mean work) of papers/mtpp, Lemma 3.3, if both of its
    parts are certified, else the best certified bound.

    Returns
    -------
    pandas.DataFrame
        Columns `bound` (positive) and `is_simple`, indexed by instance hash.
    """
    simple = per_instance(tasks[tasks["method"].isin(SIMPLE_METHODS)], "bound_certified")
    simple = simple.reindex(columns=list(SIMPLE_METHODS))
    parts = simple.max(axis=1).where(simple.notna().all(axis=1))
    best = certified.set_index("instance_sha256")["bound"].astype("float64")
    parts = parts.reindex(best.index)
    bounds = pd.DataFrame({"bound": parts.fillna(best), "is_simple": parts.notna()})
    return bounds[bounds["bound"] > 0]
