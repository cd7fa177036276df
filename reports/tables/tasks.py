"""Results as the tables need them: in a fixed order, with methods told apart."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd

from boundmark.reports.tables.method_names import method_names
from boundmark.reports.tables.parameters import json_object, parameter_text
from boundmark.reports.tables.rows import values_of


def with_names(results: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks with `parameters`, and with instances and methods told apart by name.

    `parameters` is a text such as ``"a=6, b=8"``. `method` is made unique to how it was run, and
    `instance` says on which device where results of several are stored. Sorted by problem, data
    set, instance, parameters, method and seed, so that equal results make equal pages.

    Raises
    ------
    StoreError
        If a row's `instance_params` or `params` are not a JSON object.
    """
    tasks = results.copy()
    tasks["parameters"] = _by_text(
        tasks["instance_params"],
        lambda text: parameter_text(json_object("instance_params", text)),
    )
    tasks["method"] = method_names(tasks)
    tasks["instance"] = _instance_names(tasks)
    tasks["order"] = _by_text(tasks["parameters"], _numbers_by_value)
    by = ["problem", "dataset", "instance", "order", "instance_sha256", "method", "seed", "task_id"]
    return tasks.sort_values(by).drop(columns="order").reset_index(drop=True)


def _by_text(column: "pd.Series[Any]", result_of: Callable[[Any], str]) -> list[str]:
    """Return a function of each value, computed once for equal ones."""
    known = cache(result_of)
    return [known(text) for text in values_of(column)]


def _instance_names(tasks: pd.DataFrame) -> "pd.Series[str]":
    devices = tasks["device"].fillna("")
    several = devices.groupby([tasks["dataset"], tasks["instance"]]).transform("nunique") > 1
    return tasks["instance"].where(~several | (devices == ""), tasks["instance"] + " on " + devices)


def _numbers_by_value(text: str) -> str:
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), text)
