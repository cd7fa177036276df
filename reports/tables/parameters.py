"""Parameters of instances as columns: integers, or names, in the order people expect.

The column of a parameter is its name behind ``param_``, so that it never meets another column,
whatever a problem calls its parameters. Tables by a parameter have rows by data set, method and
value, with all data sets together as one more.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.statuses import STATUSES
from boundmark.reports.tables.rows import values_of
from boundmark.reports.text import natural_order

PREFIX = "param_"

Value = int | str


def parameter_column(name: str) -> str:
    """Return the column that holds a parameter."""
    return PREFIX + name


def parameter_names(table: pd.DataFrame) -> list[str]:
    """Return the parameters that a table has columns of."""
    return [name.removeprefix(PREFIX) for name in table.columns if name.startswith(PREFIX)]


def with_parameter_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one column per parameter that occurs in its `instance_params`.

    A column holds integers if all its values are integers, and text otherwise; it is missing where
    an instance has no such parameter. Columns of parameters that the table had are replaced.
    """
    parsed = cache(lambda text: json_object("instance_params", text))
    given = [parsed(text) for text in values_of(table["instance_params"])]
    names = natural_order(name for parameters in given for name in parameters)
    columns = {
        parameter_column(name): _parameter_values(
            [parameters.get(name) for parameters in given], table.index
        )
        for name in names
    }
    kept = table.drop(columns=[parameter_column(name) for name in parameter_names(table)])
    return pd.concat([kept, pd.DataFrame(columns, index=table.index)], axis=1)


def values_in_order(column: "pd.Series[Any]") -> list[Value]:
    """Return the distinct values of a parameter's column: integers by value, names as people do."""
    distinct = set(column.dropna())
    if any(isinstance(value, str) for value in distinct):
        return list(natural_order(map(str, distinct)))
    return sorted(int(value) for value in distinct)


def in_order(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the table sorted by data set, method, and value of a parameter."""
    places = {value: place for place, value in enumerate(values_in_order(table[column]))}
    by = ["dataset", "method", "place"]
    placed = table.assign(place=table[column].map(places)).sort_values(by, kind="stable")
    return placed.drop(columns="place").reset_index(drop=True)


def json_object(column: str, text: Any) -> dict[str, Any]:
    """Return a JSON object that results hold as text."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise StoreError(f"{column} of a result is {text!r:.80}; expected a JSON object.")
    return value


def parameter_text(parameters: Mapping[str, Any]) -> str:
    """Return all parameters of an instance in one text, such as ``"a=6, b=8"``."""
    return ", ".join(f"{name}={value}" for name, value in sorted(parameters.items()))


def _parameter_values(values: Sequence[Any], index: pd.Index) -> "pd.Series[Any]":
    given = [value for value in values if value is not None]
    if all(type(value) is int and abs(value) < 2**63 for value in given):
        return pd.Series(pd.array(values, dtype="Int64"), index=index)
    texts = [None if value is None else str(value) for value in values]
    return pd.Series(texts, index=index, dtype="object")


ALL = "all data sets"


def with_all(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows twice: once as rows of all data sets together, and once unchanged."""
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
