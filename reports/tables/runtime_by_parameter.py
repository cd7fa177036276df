"""Time that methods take."""

import pandas as pd

from boundmark.reports.statistics.geometric_mean import geometric_mean
from boundmark.reports.tables.charged_seconds import SHIFT_SECONDS, charged_seconds
from boundmark.reports.tables.grouping import status_counts, with_all


def runtime_by_parameter(tasks: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return shifted geometric means of wall-clock seconds by data set, method and value.

    Seeds are averaged within an instance first. Unsupported tasks did not run: they are counted
    but have no time.

    Parameters
    ----------
    by
        A parameter's column.

    Returns
    -------
    pandas.DataFrame
        Columns `dataset`, `method`, that of the parameter, numbers of tasks by status,
        `instances` (with a time), `mean_seconds`, `largest_seconds`, `method_kind`.
    """
    ran = tasks[tasks["status"] != "unsupported"]
    key = ["dataset", "method", by]
    both = with_all(ran[[*key, "instance_sha256"]].assign(seconds=charged_seconds(ran)))
    instances = both.groupby([*key, "instance_sha256"])["seconds"].mean()
    means = instances.groupby(key).agg(
        instances="size",
        mean_seconds=lambda seconds: geometric_mean(seconds, SHIFT_SECONDS),
        largest_seconds="max",
    )
    kinds = tasks.drop_duplicates("method")[["method", "method_kind"]]
    table = status_counts(tasks, by).merge(means.reset_index(), on=key, how="left")
    return table.merge(kinds, on="method")
