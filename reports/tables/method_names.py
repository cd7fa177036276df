"""Names of methods, made unique to how a method was run."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from boundmark.reports.tables.parameters import json_object

# A method run in two ways counts as two methods. Column, and how its value reads in a name.
VARIANTS: Mapping[str, str] = {
    "params": "{}",
    "method_version": "version {}",
    "time_limit_seconds": "{} s",
    "memory_limit_bytes": "{} bytes",
    "threads": "{} threads",
}


def method_names(tasks: pd.DataFrame) -> "pd.Series[Any]":
    """Return each task's method, followed by what tells it from other ways to run the method.

    Raises
    ------
    StoreError
        If `params` of a task are not a JSON object.
    """
    ways = tasks[["method", *VARIANTS]].drop_duplicates().reset_index(drop=True)
    names = ways["method"].astype("object")
    for column, form in VARIANTS.items():
        values = ways[column].astype("object").where(ways[column].notna(), None)
        if column == "params":
            values = _differing(values, ways["method"])
        several = values.groupby(ways["method"]).transform(lambda group: group.nunique() > 1)
        for at in names.index[several.astype(bool)]:
            names[at] = f"{names[at]} ({form.format(values[at])})"
    named = tasks[["method", *VARIANTS]].merge(ways.assign(name=names.astype(str)), how="left")
    return pd.Series(named["name"].to_numpy(), index=tasks.index)


def _differing(texts: "pd.Series[Any]", methods: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the parameters of each task that not all tasks of its method share."""
    given = [json_object("params", text) if text is not None else {} for text in texts]
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
