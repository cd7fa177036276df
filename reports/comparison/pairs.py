"""The tasks that two runs have in common, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pandas as pd

from boundmark.reports.comparison.recorded_run import RecordedRun
from boundmark.reports.comparison.thresholds import Thresholds
from boundmark.reports.tables.parameters import json_object, parameter_text
from boundmark.reports.tables.rows import values_of
from boundmark.reports.tables.tasks import distinct_labels

# What makes two tasks the same but for the code that ran them.
LIMITS = ("time_limit_seconds", "memory_limit_bytes", "threads")
KEY = ["problem", "instance_sha256", "method", "params", "seed", *LIMITS]

# By what people call a task; its instance may have changed, and its limits.
NAME = ["problem", "dataset", "instance", "device", "parameters", "method", "seed"]


@dataclass(frozen=True)
class Pairs:
    """The tasks that two runs have in common.

    Attributes
    ----------
    both
        One row per task that both have: the columns of `KEY`, `label`, `repeatable`, `changed` (the
        versions of the method differ), and all other columns of the results twice, as
        `<column>_base` and `<column>_new`.
    only_base, only_new
        The tasks that only one has, with `label` and `why`.
    """

    both: pd.DataFrame
    only_base: pd.DataFrame
    only_new: pd.DataFrame

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
    Of several versions in one run, the latest counts.
    """
    left, right = _keyed(base.tasks), _keyed(new.tasks)
    both = left.merge(right, on=KEY, suffixes=("_base", "_new"))
    both = both.rename(columns={"label_new": "label"}).drop(columns="label_base")
    both["repeatable"] = (
        ended_early(both, "base", thresholds.repeatable_share)
        & ended_early(both, "new", thresholds.repeatable_share)
        & ~both["method"].isin(thresholds.clock_methods)
    )
    versions = both["method_version_base"], both["method_version_new"]
    both["changed"] = versions[0].ne(versions[1]).fillna(False).astype(bool)
    return Pairs(both, _unpaired(left, right), _unpaired(right, left))


def ended_early(both: pd.DataFrame, side: str, share: float) -> "pd.Series[bool]":
    """Return which tasks ended by themselves within a share of their time limit.

    Parameters
    ----------
    side
        ``"base"`` or ``"new"``.
    """
    within = both[f"wall_seconds_{side}"] <= share * both["time_limit_seconds"]
    return (both[f"status_{side}"] == "ok") & within.fillna(False).astype(bool)


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
