"""Lower bounds as a fraction of the best solution (the form of papers/mtpp, Tables 1 and 3)."""

import pandas as pd

from boundmark.reports.tables.ratios import mean_ratios
from boundmark.reports.tables.tasks import per_instance, status_counts

# A claim may exceed the optimum by a solver's tolerance. Beyond this it contradicts a solution.
CLAIM_TOLERANCE = 1e-6

BEST = "best of all"


def bounds_by_k(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return geometric means of LB/UB by data set, bound method and k.

    UB is the best verified objective of the instance over all methods; instances without one, or
    with an optimum of 0, are no reference. Certified and claimed bounds never meet in one mean. A
    bound of 0 says nothing and counts as none, and so does a claim above the UB. The method
    `BEST` takes the best bound of each instance.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, `k`, `instances`; `certified_delivered`, `certified_mean`,
        `certified_common`, `certified_common_mean`, the same four with `claimed` (see
        `mean_ratios`); and numbers of tasks by status, missing for `BEST`.
    """
    having = certified[(certified["objective"] > 0).fillna(False)].set_index("instance_sha256")
    upper = having["objective"].astype("float64")
    bounding = tasks[tasks["method_kind"].isin(["bound", "exact"])]
    bounding = bounding.assign(
        bound_claimed=bounding["bound_claimed"].where(is_tenable(bounding, upper))
    )
    key = ["dataset", "method", "k"]
    means = None
    for name, column in (("certified", "bound_certified"), ("claimed", "bound_claimed")):
        bounds = per_instance(bounding, column)
        bounds = bounds.where(bounds > 0)
        bounds[BEST] = bounds.max(axis=1)
        part = mean_ratios(bounds.div(upper, axis=0), having[["dataset", "k"]])
        part = part.rename(
            columns={x: f"{name}_{x}" for x in ("delivered", "mean", "common", "common_mean")}
        )
        means = part if means is None else means.merge(part, on=[*key, "instances"])
    assert means is not None
    return means.merge(status_counts(bounding), on=key, how="left")


def contradicted_claims(tasks: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks whose claim is above the best verified objective of their instance."""
    upper = certified.set_index("instance_sha256")["objective"].astype("float64")
    return tasks[tasks["bound_claimed"].notna() & ~is_tenable(tasks, upper)].assign(
        best_objective=lambda wrong: wrong["instance_sha256"].map(upper)
    )[
        [
            "dataset",
            "instance",
            "parameters",
            "method",
            "seed",
            "bound_claimed",
            "best_objective",
            "task_id",
        ]
    ]


def is_tenable(tasks: pd.DataFrame, upper: "pd.Series[float]") -> "pd.Series[bool]":
    """Return which tasks have no claim above the objective of their instance."""
    limit = tasks["instance_sha256"].map(upper).astype("float64") * (1 + CLAIM_TOLERANCE)
    return ~(tasks["bound_claimed"] > limit)
