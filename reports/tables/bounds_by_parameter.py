"""Lower bounds as a fraction of the best solution (the form of [MTPP24], Tables 1 and 3)."""

import pandas as pd

from boundmark.reports.tables.claims import is_tenable
from boundmark.reports.tables.grouping import per_instance, status_counts
from boundmark.reports.tables.ratios import mean_ratios

BEST = "best of all"


def bounds_by_parameter(tasks: pd.DataFrame, certified: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return geometric means of LB/UB by data set, bound method and value.

    UB is the best verified objective of the instance over all methods; instances without one, or
    with an optimum of 0, are no reference. Certified and claimed bounds never meet in one mean. A
    bound of 0 says nothing and counts as none, and so does a claim above the UB. The method
    `BEST` takes the best bound of each instance.

    Parameters
    ----------
    by
        A parameter's column.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, that of the parameter, `instances`; `certified_delivered`,
        `certified_mean`, `certified_common`, `certified_common_mean`, the same four with
        `claimed` (see `mean_ratios`); and numbers of tasks by status, missing for `BEST`.
    """
    having = certified[(certified["objective"] > 0).fillna(False)].set_index("instance_sha256")
    upper = having["objective"].astype("float64")
    bounding = tasks[tasks["method_kind"].isin(["bound", "exact"])]
    bounding = bounding.assign(
        bound_claimed=bounding["bound_claimed"].where(is_tenable(bounding, upper))
    )
    key = ["dataset", "method", by]
    means = None
    for name, column in (("certified", "bound_certified"), ("claimed", "bound_claimed")):
        bounds = per_instance(bounding, column)
        bounds = bounds.where(bounds > 0)
        bounds[BEST] = bounds.max(axis=1)
        part = mean_ratios(bounds.div(upper, axis=0), having[["dataset", by]], by)
        part = part.rename(
            columns={x: f"{name}_{x}" for x in ("delivered", "mean", "common", "common_mean")}
        )
        means = part if means is None else means.merge(part, on=[*key, "instances"])
    assert means is not None
    return means.merge(status_counts(bounding, by), on=key, how="left")
