"""Rows by data set, method and value of a parameter, with all data sets together as one more."""

from collections.abc import Iterator

import pandas as pd

from boundmark.reports.stored.statuses import STATUSES
from boundmark.reports.tables.parameters import Value, in_order, values_in_order

ALL = "all data sets"


def with_all(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows twice: once as those of all data sets, and once as they are."""
    return pd.concat([table.assign(dataset=ALL), table])


def groups(table: pd.DataFrame, by: str) -> Iterator[tuple[str, Value, pd.DataFrame]]:
    """Yield data set (or all), value, and the rows that have both; `by` is a parameter's column."""
    for dataset, part in with_all(table).groupby("dataset"):
        for value in values_in_order(part[by]):
            yield str(dataset), value, part[(part[by] == value).fillna(False).astype(bool)]


def per_instance(tasks: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return one row per instance and one column per method: means over seeds, NaN for none."""
    values = tasks.assign(value=tasks[column].astype("float64"))
    return values.groupby(["instance_sha256", "method"])["value"].mean().unstack()


def status_counts(tasks: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the number of tasks by status, one row per data set (and all), method and value."""
    key = ["dataset", "method", by]
    counts = (
        with_all(tasks[[*key, "status"]]).groupby([*key, "status"]).size().unstack(fill_value=0)
    )
    counts = counts.reindex(columns=list(STATUSES), fill_value=0)
    return in_order(counts.astype("int64").reset_index().rename_axis(columns=None), by)
