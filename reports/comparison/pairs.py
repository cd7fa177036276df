"""The tasks of two runs in pairs, and the thresholds beyond which one of a pair is worse."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import LARGEST_TOML, toml_table
from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.tables.parameters import json_object, parameter_text
from boundmark.reports.tables.rows import values_of
from boundmark.reports.tables.tasks import distinct_labels

MISSING_TASKS = ("told", "worse")


@dataclass(frozen=True)
class Thresholds:
    """Differences beyond which a run counts as worse; `compare.toml` defines each."""

    repeatable_share: float
    clock_methods: tuple[str, ...]
    objective_tolerance: float
    bound_tolerance: float
    solved_lost: int
    optimal_lost: int
    missing_tasks: str
    clock_tolerance: float

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("solved_lost", "optimal_lost"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InvalidInputError(f"{name} is {quoted(value)}; expected an integer, 0 up.")
        for name in (
            "repeatable_share", "objective_tolerance", "bound_tolerance", "clock_tolerance",
        ):  # fmt: skip
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < math.inf:
                raise InvalidInputError(f"{name} is {quoted(value)}; expected a number, 0 up.")
        if self.repeatable_share > 1:
            raise InvalidInputError(
                f"repeatable_share is {self.repeatable_share}; expected at most 1."
            )
        if self.missing_tasks not in MISSING_TASKS:
            raise InvalidInputError(
                f"missing_tasks is {quoted(self.missing_tasks)}; "
                f"expected one of {', '.join(MISSING_TASKS)}."
            )
        if not all(isinstance(name, str) for name in self.clock_methods):
            raise InvalidInputError(
                f"clock_methods is {quoted(list(self.clock_methods))}; expected names of methods."
            )


def read_thresholds(path: Path) -> Thresholds:
    """Read a file of thresholds; missing ones have their defaults."""
    content = read_bytes(path, "thresholds in TOML", LARGEST_TOML)
    with naming(path):
        given = toml_table(content)
    known = {field.name: field for field in fields(Thresholds)}
    for name in given:
        find(f"threshold in {path}", name, known)
    with naming(path):
        return replace(default_thresholds(), **_values(given))


@cache
def default_thresholds() -> Thresholds:
    """Return the thresholds that come with the package."""
    text = (files("boundmark.reports.comparison") / "compare.toml").read_text(encoding="utf-8")
    return Thresholds(**_values(tomllib.loads(text)))


def _values(given: dict[str, Any]) -> dict[str, Any]:
    methods = given.get("clock_methods")
    if methods is None:
        return given
    if not isinstance(methods, list):
        raise InvalidInputError(f"clock_methods is {quoted(methods)}; expected a list of names.")
    return {**given, "clock_methods": tuple(methods)}


# What makes two tasks the same but for the code that ran them.
LIMITS = ("time_limit_seconds", "memory_limit_bytes", "threads")
KEY = ["problem", "instance_sha256", "method", "params", "seed", *LIMITS]

# Key of tasks that differ in parameters only, as where a default was changed in the code.
LIKE = [name for name in KEY if name != "params"]

# By what people call a task; its instance may have changed, and its limits.
NAME = ["problem", "dataset", "instance", "device", "parameters", "method", "seed"]

# What a task finds.
RESULT = ["objective", "bound_certified"]


@dataclass(frozen=True)
class Pairs:
    """The tasks that two runs have in common.

    Attributes
    ----------
    both
        One row per task that both have: the columns of `KEY`, `label`, `is_sure` (BASE does not end
        otherwise by chance), `repeatable` (the results of BASE do not depend on the clock),
        `changed` (the versions of the method differ), `differs` (parameters with another value, in
        words), and all other columns of the results twice, as `<column>_base` and `<column>_new`.
    only_base, only_new
        The tasks that only one has, with `label` and `why`.
    repeats
        All rows of BASE, see `RecordedRun`.
    """

    both: pd.DataFrame
    only_base: pd.DataFrame
    only_new: pd.DataFrame
    repeats: pd.DataFrame

    @cached_property
    def repeatable(self) -> pd.DataFrame:
        """The common tasks whose results did not depend on the clock."""
        return self.both[self.both["repeatable"]]

    @cached_property
    def timed(self) -> pd.DataFrame:
        """The common tasks whose results may depend on the clock."""
        return self.both[~self.both["repeatable"]]


def pair_tasks(base: RecordedRun, new: RecordedRun, thresholds: Thresholds) -> Pairs:
    """Put the tasks of two runs side by side.

    Tasks whose method has another version are paired, too: whether it is better is what is asked.
    Of several versions in one run, the latest counts. A task whose parameters the other run does
    not have is paired with the one that differs in the fewest of them, and in nothing else: a
    method whose default was changed is still the same method.
    """
    left, right = _keyed(base.tasks), _keyed(new.tasks)
    given = values_of(left["params"])
    # The column has the same type where there are no tasks.
    left["params"] = pd.Series(_counterparts(left, right), left.index, left["params"].dtype)
    left["differs"] = [
        ", ".join(_differences(before, after))
        for before, after in zip(given, values_of(left["params"]), strict=True)
    ]
    both = left.merge(right, on=KEY, suffixes=("_base", "_new"))
    both["label"] = [
        f"{label} ({differs})" if differs else label
        for label, differs in zip(
            *map(values_of, (both["label_new"], both["differs"])), strict=True
        )
    ]
    both = both.drop(columns=["label_base", "label_new"])
    again = _repeated(base.repeats, thresholds.repeatable_share).loc[both["task_id_base"]]
    both["is_sure"] = (again["early"] | (again["ok"] & (again["runs"] > 1))).to_numpy()
    # Where NEW has failed, the failure says all.
    both["repeatable"] = (
        (again["early"] & again["same"]).to_numpy()
        & (both["status_new"] == "ok")
        & ~both["method"].isin(thresholds.clock_methods)
    )
    versions = both["method_version_base"], both["method_version_new"]
    both["changed"] = versions[0].ne(versions[1]).fillna(False).astype(bool)
    return Pairs(both, _unpaired(left, right), _unpaired(right, left), base.repeats)


def _counterparts(left: pd.DataFrame, right: pd.DataFrame) -> list[str]:
    """Return for each task of BASE the parameters of its counterpart in NEW; its own without one.

    No task of NEW is the counterpart of two.
    """
    given, others = values_of(left["params"]), values_of(right["params"])
    keys, other_keys = (
        list(zip(*(values_of(tasks[name]) for name in LIKE), strict=True))
        for tasks in (left, right)
    )
    known = {*zip(keys, given, strict=True)}
    free: dict[tuple[Any, ...], set[str]] = {}
    for key, params in zip(other_keys, others, strict=True):
        if (key, params) not in known:
            free.setdefault(key, set()).add(params)
    known = {*zip(other_keys, others, strict=True)}
    alone = [at for at, key in enumerate(keys) if key in free and (key, given[at]) not in known]
    found = list(given)
    nearest = sorted(
        (len(_differences(given[one], params)), one, params)
        for one in alone
        for params in free[keys[one]]
    )
    for _, at, params in nearest:
        if found[at] == given[at] and params in free[keys[at]]:
            free[keys[at]].remove(params)
            found[at] = params
    return found


def _differences(before: str, after: str) -> list[str]:
    """Return the parameters whose values differ, such as ``"rounds 10 -> 20"``."""
    if before == after:
        return []
    old, new = (json_object("params", text) for text in (before, after))
    return [
        f"{name} {old.get(name, 'not set')} -> {new.get(name, 'not set')}"
        for name in sorted({*old, *new})
        if repr(old.get(name)) != repr(new.get(name))
    ]


def _repeated(repeats: pd.DataFrame, share: float) -> pd.DataFrame:
    """Return what all runs of each task have in common: ended ok, and early; with the same results.

    Early is within a share of the time limit, so that the clock decided nothing.
    """
    ok = repeats["status"] == "ok"
    within = repeats["wall_seconds"] <= share * repeats["time_limit_seconds"]
    marked = repeats[["task_id", *RESULT]].assign(ok=ok, early=ok & within)
    groups = marked.groupby("task_id")
    return (
        groups[["ok", "early"]]
        .all()
        .assign(runs=groups.size(), same=(groups[RESULT].nunique(dropna=False) == 1).all(axis=1))
    )


def _keyed(tasks: pd.DataFrame) -> pd.DataFrame:
    """Return one row per key, with a name for people; the latest version of a method only."""
    text_of = cache(lambda text: parameter_text(json_object("instance_params", text)))
    tasks = tasks.assign(
        parameters=[text_of(text) for text in values_of(tasks["instance_params"])],
        device=tasks["device"].fillna(""),
    )
    # What decides is sorted alone: rows have four times as many columns.
    names = tasks[list(dict.fromkeys((*NAME, *KEY, "method_version", "started_at")))]
    names = names.sort_values(["method_version", "started_at"], kind="stable")
    names = names.drop_duplicates(KEY, keep="last").sort_values([*NAME, *KEY], kind="stable")
    latest = tasks.loc[names.index]
    return latest.assign(label=_labels(latest)).reset_index(drop=True)


def _labels(tasks: pd.DataFrame) -> list[str]:
    """Return a name for each task, with hash, seed and parameters where tasks differ in them."""
    shown = [
        " ".join(filter(None, (f"{dataset}/{instance}", device, parameters)))
        for dataset, instance, device, parameters in zip(
            *(values_of(tasks[name]) for name in NAME[1:-2]), strict=True
        )
    ]
    instances = distinct_labels(
        pd.Series(shown, tasks.index, dtype="str"), tasks["instance_sha256"]
    )
    labels = instances + ", " + tasks["method"]
    several = tasks.groupby(["problem", "method"])["seed"].transform("nunique") > 1
    varied = tasks.groupby(["problem", "method"])["params"].transform("nunique") > 1
    return [
        label + (f", seed {seed}" if with_seed else "") + (f", {params}" if with_params else "")
        for label, seed, params, with_seed, with_params in zip(
            *map(values_of, (labels, tasks["seed"], tasks["params"], several, varied)), strict=True
        )
    ]


def _unpaired(tasks: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks without a counterpart in the other run, with the reason."""
    alone = tasks.merge(others[KEY].assign(known=True), on=KEY, how="left")
    alone = alone[alone["known"].isna()].drop(columns="known")
    # Rows have four times as many columns, each of which would be cut into groups.
    needed = others[list(dict.fromkeys((*NAME, *KEY)))]
    named = dict(iter(needed.groupby(NAME))) if len(alone) else {}
    return alone.assign(
        why=[
            _difference(row, named.get(tuple(row[name] for name in NAME)))
            for row in alone.to_dict("records")
        ]
    ).reset_index(drop=True)


def _difference(row: Mapping[Any, Any], others: pd.DataFrame | None) -> str:
    if others is None:
        return "no such task"
    reasons = {"instance_sha256": "another instance", "params": "other parameters"}
    reasons |= dict.fromkeys(LIMITS, "other limits")
    found = [text for name, text in reasons.items() if row[name] not in set(others[name])]
    return " and ".join(dict.fromkeys(found)) or "run in another way"
