"""Results as the tables need them: with parameters read, and methods told apart."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.statuses import STATUSES

ALL = "all data sets"

# What instances are made with, and tables need as numbers.
PARAMETERS = ("k", "memory", "micro_batches")

# A method run in two ways counts as two methods. Column, and how its value reads in a name.
VARIANTS: Mapping[str, str] = {
    "params": "{}",
    "method_version": "version {}",
    "time_limit_seconds": "{} s",
    "memory_limit_bytes": "{} bytes",
    "threads": "{} threads",
}


def with_parameters_and_names(results: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks with their parameters, and `method` made unique to how it was run.

    Columns `k`, `memory` and `micro_batches` are added, missing where an instance has none, and
    `parameters`, a text such as ``"memory=6, micro_batches=8"``. Sorted by problem, data set,
    instance, parameters, method and seed, so that equal results make equal pages.

    Raises
    ------
    StoreError
        If a row's `instance_params` or `params` are not a JSON object.
    """
    tasks = results.copy()
    parameters = tasks["instance_params"].map(lambda text: _json("instance_params", text))
    for name in PARAMETERS:
        tasks[name] = pd.array([value.get(name) for value in parameters], dtype="Int64")
    tasks["parameters"] = [
        ", ".join(f"{name}={value}" for name, value in sorted(values.items()))
        for values in parameters
    ]
    tasks["method"] = _names(tasks)
    tasks["order"] = tasks["parameters"].map(_numbers_by_value)
    by = ["problem", "dataset", "instance", "order", "instance_sha256", "method", "seed", "task_id"]
    return tasks.sort_values(by).drop(columns="order").reset_index(drop=True)


def per_instance(tasks: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a row an instance and a column a method: a column's mean over seeds, NaN for none."""
    values = tasks.assign(value=tasks[column].astype("float64"))
    return values.pivot_table(
        index="instance_sha256",
        columns="method",
        values="value",
        aggfunc="mean",
        dropna=False,
        observed=True,
    )


def status_counts(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the number of tasks by status, a row each data set (and all), method and k."""
    both = pd.concat([tasks.assign(dataset=ALL), tasks])
    by = ["dataset", "method", "k"]
    counts = both.groupby([*by, "status"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(STATUSES), fill_value=0)
    return counts.astype("int64").reset_index().rename_axis(columns=None)


def _numbers_by_value(text: str) -> str:
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), text)


def _json(column: str, text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise StoreError(f"{column} of a result is {text!r}; expected a JSON object.")
    return value


def _names(tasks: pd.DataFrame) -> "pd.Series[Any]":
    names = tasks["method"].astype("object")
    for column, form in VARIANTS.items():
        values = tasks[column].astype("object").where(tasks[column].notna(), None)
        if column == "params":
            values = _differing(values, tasks["method"])
        several = values.groupby(tasks["method"]).transform(lambda group: group.nunique() > 1)
        for at in names.index[several.astype(bool)]:
            names[at] = f"{names[at]} ({form.format(values[at])})"
    return names.astype(str)


def _differing(texts: "pd.Series[Any]", methods: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the parameters of each task that not all tasks of its method share."""
    given = [_json("params", text) if text is not None else {} for text in texts]
    by_method: dict[str, list[dict[str, Any]]] = {}
    for method, params in zip(methods, given, strict=True):
        by_method.setdefault(method, []).append(params)
    differing = {method: _open_names(several) for method, several in by_method.items()}
    shown = [
        ", ".join(f"{n}={params[n]}" if n in params else f"no {n}" for n in differing[method])
        for method, params in zip(methods, given, strict=True)
    ]
    return pd.Series(shown, index=texts.index, dtype="object")


def _open_names(several: list[dict[str, Any]]) -> list[str]:
    names = sorted({name for params in several for name in params})
    return [n for n in names if len({repr(params.get(n)) for params in several}) > 1]
