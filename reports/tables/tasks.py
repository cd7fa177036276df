"""Tasks as the tables need them: in a fixed order, each method under a unique name."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.dictionary import columns_of
from boundmark.reports.stored.statuses import is_refuted
from boundmark.reports.tables.parameters import json_object, parameter_text, with_parameter_columns
from boundmark.reports.tables.rows import best_rows, values_of


def with_names(results: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks with `parameters`, and with unique names of instances and methods.

    `parameters` is a text such as ``"a=6, b=8"``. `method` is made unique to how it was run, and
    `instance` says on which device where results of several are stored. Begins of hashes tell
    instances of one label apart, with all others that may be of the same file. Sorted by problem,
    data set, instance, parameters, method and seed, so that equal results make equal pages.
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
    names = tasks["instance"].where(
        ~several | (devices == ""), tasks["instance"] + " on " + devices
    )
    # A file that was changed between two runs is another instance, under the same label. With other
    # parameters, too, nobody can say which of the files an instance is of.
    source = [tasks["problem"], tasks["dataset"], names]
    are_several = _several_instances(tasks["instance_sha256"], [*source, tasks["parameters"]])
    return with_hashes(
        names, tasks["instance_sha256"], are_several.groupby(source).transform("any")
    )


def _several_instances(
    digests: "pd.Series[str]", labels: "Sequence[pd.Series[Any]]"
) -> "pd.Series[bool]":
    """Return which rows share their label with another instance."""
    return digests.groupby(list(labels)).transform("nunique") > 1


# Hexadecimal digits of a hash that tell instances apart, unless more are needed.
LEAST_DIGITS = 6


def with_hashes(
    names: "pd.Series[str]", digests: "pd.Series[str]", where: "pd.Series[bool]"
) -> "pd.Series[str]":
    """Return names, some of them followed by the begin of their instance's hash."""
    known = digests[where].drop_duplicates()
    enough = (n for n in range(LEAST_DIGITS, 64) if known.str[:n].is_unique)
    return names.where(~where, names + " (" + digests.str[: next(enough, 64)] + ")")


def distinct_labels(labels: "pd.Series[str]", digests: "pd.Series[str]") -> "pd.Series[str]":
    """Return labels that name one instance each: those of several are followed by hashes.

    Examples
    --------
    >>> labels, digests = pd.Series(["net k=2", "net k=2"]), pd.Series(["a1b2c3d4", "e5f6a7b8"])
    >>> distinct_labels(labels, digests).tolist()
    ['net k=2 (a1b2c3)', 'net k=2 (e5f6a7)']
    """
    return with_hashes(labels, digests, _several_instances(digests, [labels]))


def _numbers_by_value(text: str) -> str:
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), text)


# A method run in two ways counts as two methods. Column, and how its value reads in a name.
VARIANTS: Mapping[str, str] = {
    "params": "{}",
    "method_version": "version {}",
    "time_limit_seconds": "{} s",
    "memory_limit_bytes": "{} bytes",
    "threads": "{} threads",
}


def method_names(tasks: pd.DataFrame) -> "pd.Series[Any]":
    """Return each task's method, followed by the settings in which its runs differ."""
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


# Geometric means of seconds are shifted by this.
SHIFT_SECONDS = 1.0


def charged_seconds(tasks: pd.DataFrame) -> "pd.Series[float]":
    """Return wall-clock seconds; a task that did not end `ok` counts with at least its limit."""
    wall = tasks["wall_seconds"].fillna(0.0)
    limit = tasks["time_limit_seconds"].fillna(0.0)
    return wall.where(tasks["status"] == "ok", np.maximum(wall, limit))


def failures(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return every task whose status is not `ok`, and `ok` ones that delivered nothing."""
    delivered = tasks[["objective", "bound_certified", "bound_claimed"]].notna().any(axis=1)
    return tasks[(tasks["status"] != "ok") | ~delivered][columns_of("failures")].reset_index(
        drop=True
    )


def certified_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return the best cost, the best bound and the gap of each instance of results."""
    return certified_of_tasks(with_names(results))


def certified_of_tasks(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per instance, sorted by problem, data set, instance and parameters.

    `objective` is the best verified one and `bound` the best certified one, each with the method
    that found it (the fastest if several did, see `best_rows`); `claimed` is the largest claim.
    `gap` is ``objective / bound - 1``, missing if either is missing or the bound is 0 and the
    objective is not. `optimal` says that objective and bound are equal. One column per parameter of
    instances follows, e.g. `param_devices`.
    """
    upper, lower, claims = (
        best_rows(tasks, column, highest=column != "objective").set_index("instance_sha256")
        for column in ("objective", "bound_certified", "bound_claimed")
    )
    _refuse_contradiction(upper, lower)
    table = tasks.drop_duplicates("instance_sha256").set_index("instance_sha256")
    table["objective"] = upper["objective"]
    table["objective_method"] = upper["method"]
    table["bound"] = lower["bound_certified"]
    table["bound_method"] = lower["method"]
    table["bound_kind"] = lower["bound_kind"]
    table["claimed"] = claims["bound_claimed"]
    table["claimed_method"] = claims["method"]
    table["optimal"] = (table["objective"] == table["bound"]).fillna(False).astype(bool)
    ratio = table["objective"].astype("float64") / table["bound"].where(table["bound"] > 0).astype(
        "float64"
    )
    table["gap"] = np.where(table["optimal"], 0.0, ratio - 1)
    # The library may know more: see `with_best_known`.
    table["best_known_bound"], table["gap_to_best_known"] = table["bound"], table["gap"]
    # Instances say what a tick is, tasks do not: see `with_ticks`.
    columns = [name for name in columns_of("certified") if name != "tick"]
    return with_parameter_columns(table.reset_index()[columns])


def _refuse_contradiction(upper: pd.DataFrame, lower: pd.DataFrame) -> None:
    both = upper.join(lower.add_suffix("_lower"), how="inner").sort_index()
    wrong = both[(both["objective"] < both["bound_certified_lower"]).astype(bool)]
    if len(wrong) == 0:
        return
    sha256, row = str(wrong.index[0]), wrong.iloc[0]
    raise StoreError(
        f"instance {row['instance']} {row['instance_params']} ({sha256}): task {row['task_id']} "
        f"({row['method']}) has a verified objective of {row['objective']}, below the certified "
        f"bound of {row['bound_certified_lower']} of task {row['task_id_lower']} "
        f"({row['method_lower']}); one of the two is wrong, so nothing is published."
    )


def contradicted_claims(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks whose claim is above the best verified objective of their instance."""
    upper = tasks.groupby("instance_sha256")["objective"].min().astype("float64")
    wrong = tasks[tasks["bound_claimed"].notna() & ~is_tenable(tasks, upper)]
    return wrong.assign(best_objective=wrong["instance_sha256"].map(upper))[
        columns_of("contradicted_claims")
    ]


def is_tenable(tasks: pd.DataFrame, upper: "pd.Series[float]") -> "pd.Series[bool]":
    """Return which tasks have no claim above the objective of their instance."""
    cost = tasks["instance_sha256"].map(upper).astype("float64")
    wrong: pd.Series[bool] = is_refuted(tasks["bound_claimed"], cost)
    return ~wrong
