"""Time that methods take."""

import numpy as np
import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.tasks import ALL, status_counts

SHIFT_SECONDS = 1.0


def charged_seconds(tasks: pd.DataFrame) -> "pd.Series[float]":
    """Return wall-clock seconds; a task that did not end `ok` counts with at least its limit."""
    wall = tasks["wall_seconds"].fillna(0.0)
    limit = tasks["time_limit_seconds"].fillna(0.0)
    return wall.where(tasks["status"] == "ok", np.maximum(wall, limit))


def runtime_by_k(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return shifted geometric means of wall-clock seconds by data set, method and k.

    Seeds are averaged within an instance first. Unsupported tasks did not run: they are counted
    but have no time.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, `method_kind`, `k`, `instances` (with a time), `mean_seconds`,
        `largest_seconds`, and numbers of tasks by status.
    """
    ran = tasks[tasks["status"] != "unsupported"]
    ran = ran.assign(seconds=charged_seconds(ran))
    both = pd.concat([ran.assign(dataset=ALL), ran])
    by = ["dataset", "method", "k"]
    instances = both.groupby([*by, "instance_sha256"])["seconds"].mean()
    means = instances.groupby(by).agg(
        instances="size",
        mean_seconds=lambda seconds: geometric_mean(seconds, SHIFT_SECONDS),
        largest_seconds="max",
    )
    kinds = tasks.drop_duplicates("method")[["method", "method_kind"]]
    table = status_counts(tasks).merge(means.reset_index(), on=by, how="left")
    return table.merge(kinds, on="method")
