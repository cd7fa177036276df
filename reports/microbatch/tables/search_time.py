"""Search time, and how often it is that of modulo scheduling ([TESSEL24], Figure 9)."""

from typing import Any

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.text.natural_order import natural_order

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
        reference method's time, where that is not limited; and the same for the time until the
        best objective of all methods was first reached: `best_seconds`, `is_best_limited`, where a
        task that did not reach it counts with its whole time, and `best_ratio`.
    """
    searching = schedules[schedules["method_kind"] != "bound"]
    best = searching.groupby("instance_sha256")["objective"].transform("min")
    reached = (searching["objective"] == best).fillna(False).astype(bool)
    reached &= searching["seconds_to_objective"].notna()
    searching = searching.assign(
        best_seconds=searching["seconds_to_objective"].where(reached, searching["seconds"]),
        is_best_limited=~reached & searching["seconds"].notna(),
    )
    grouped = searching.groupby(KEY, sort=False)
    table = grouped.agg(
        seconds=("seconds", "mean"),
        is_limited=("is_limited", "any"),
        best_seconds=("best_seconds", "mean"),
        is_best_limited=("is_best_limited", "any"),
    ).reset_index()
    table["ratio"] = _ratios(table, "seconds", "is_limited")
    table["best_ratio"] = _ratios(table, "best_seconds", "is_best_limited")
    return table


def mean_ratios(times: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of each other method's ratios.

    Returns
    -------
    pandas.DataFrame
        Columns `method`, `instances` with a ratio, `limited` among them, `mean_ratio`; and
        `best_instances`, `best_limited`, `best_mean_ratio` for the time until the best objective.
    """
    others = times[times["method"] != reference_method(times["method"].unique())]
    rows = []
    for method, part in others.groupby("method"):
        row: list[Any] = [method]
        for ratio, limited in (("ratio", "is_limited"), ("best_ratio", "is_best_limited")):
            having = part.dropna(subset=ratio)
            mean = geometric_mean(having[ratio]) if len(having) else float("nan")
            row += [len(having), int(having[limited].sum()), mean]
        if row[1] or row[4]:
            rows.append(row)
    names = ("instances", "limited", "mean_ratio")
    columns = ["method", *names, *(f"best_{name}" for name in names)]
    return pd.DataFrame(rows, columns=columns)


def _ratios(table: pd.DataFrame, seconds: str, is_limited: str) -> "pd.Series[float]":
    reference = reference_method(table["method"].unique())
    if reference is None:
        return pd.Series(float("nan"), index=table.index)
    own = table[(table["method"] == reference) & ~table[is_limited] & (table[seconds] > 0)]
    return table[seconds] / table["instance_sha256"].map(own.set_index("instance_sha256")[seconds])
