"""Search time, and how often it is that of modulo scheduling (papers/tessel, Figure 9)."""

from typing import Any

import pandas as pd

from boundmark.reports.natural_order import natural_order
from boundmark.reports.statistics.geometric_mean import geometric_mean

REFERENCE = "modulo"

KEY = ["dataset", "instance", "parameters", "instance_sha256", "method"]


def reference_method(methods: Any) -> str | None:
    """Return the method that times are compared with: `modulo`, or its first variant by name."""
    names = [name for name in methods if name == REFERENCE or name.startswith(f"{REFERENCE} (")]
    return natural_order(names)[0] if names else None


def search_time(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return the time of each method that finds schedules, by instance.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `instance`, `parameters`, `instance_sha256`, `method`; `seconds`, the
        mean over seeds, missing if the method does not support the instance; `is_limited`, whether
        a task failed or used its whole time, so that it needs that time at least; `ratio` to the
        reference method's time, where that is not limited.
    """
    searching = schedules[schedules["method_kind"] != "bound"]
    grouped = searching.groupby(KEY, sort=False)
    table = grouped.agg(seconds=("seconds", "mean"), is_limited=("is_limited", "any"))
    table = table.reset_index()
    table["ratio"] = float("nan")
    reference = reference_method(table["method"].unique())
    if reference is not None:
        own = table[(table["method"] == reference) & ~table["is_limited"] & (table["seconds"] > 0)]
        times = own.set_index("instance_sha256")["seconds"]
        table["ratio"] = table["seconds"] / table["instance_sha256"].map(times)
    return table


def mean_ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of each other method's ratios.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `instances` with a ratio, `limited` among them, `mean_ratio`.
    """
    having = times.dropna(subset="ratio")
    having = having[having["method"] != reference_method(times["method"].unique())]
    rows = [
        (method, len(part), int(part["is_limited"].sum()), geometric_mean(part["ratio"]))
        for method, part in having.groupby("method")
    ]
    return pd.DataFrame(rows, columns=["method", "instances", "limited", "mean_ratio"])
