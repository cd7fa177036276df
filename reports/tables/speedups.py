"""How much better than a chosen baseline each method's solutions are."""

import pandas as pd

from boundmark.reports.tables.grouping import per_instance

COLUMNS = [
    "dataset",
    "instance",
    "parameters",
    "instance_sha256",
    "method",
    "baseline",
    "speedup",
]


def speedup_table(tasks: pd.DataFrame, certified: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Return one row per instance that the baseline solved and method that solved it too.

    Returns
    -------
    pandas.DataFrame
        In the order of the certified table, then of columns `dataset`, `instance`, `parameters`,
        `instance_sha256`, `method`, `baseline`; `speedup`, the baseline's verified cost over the
        method's, seeds averaged within an instance first. Costs of 0 have no quotient.
    """
    solving = tasks[tasks["method_kind"].isin(["heuristic", "exact"])]
    costs = per_instance(solving, "objective")
    costs = costs.where(costs > 0)
    if baseline not in costs:
        return pd.DataFrame(columns=COLUMNS)
    quotients = costs.rdiv(costs[baseline], axis=0).reset_index()
    long = quotients.melt("instance_sha256", var_name="method", value_name="speedup")
    names = certified[["dataset", "instance", "parameters", "instance_sha256"]]
    table = names.merge(long.dropna(subset=["speedup"]), on="instance_sha256")
    return table.assign(baseline=baseline)[COLUMNS]
