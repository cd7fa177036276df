"""Everything that a report says, computed once from a results folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.gantt.boxes import schedule_boxes
from boundmark.reports.gantt.chosen import chosen_for_drawing
from boundmark.reports.store import ResultStore
from boundmark.reports.tables.anytime_by_k import anytime_by_k
from boundmark.reports.tables.bounds_by_k import bounds_by_k, contradicted_claims
from boundmark.reports.tables.certified import certified_table
from boundmark.reports.tables.failures import failures
from boundmark.reports.tables.gap_by_k import gap_by_k
from boundmark.reports.tables.heuristics_by_k import heuristics_by_k, reference_bounds
from boundmark.reports.tables.methods import method_table
from boundmark.reports.tables.microbatch.best import best_schedules
from boundmark.reports.tables.microbatch.bubble_rates import bubble_rates
from boundmark.reports.tables.microbatch.communication import communication_table
from boundmark.reports.tables.microbatch.schedules import (
    schedule_table,
    stored_instance,
    stored_schedule,
)
from boundmark.reports.tables.microbatch.search_time import mean_ratios, search_time
from boundmark.reports.tables.rows import rows
from boundmark.reports.tables.runtime_by_k import runtime_by_k
from boundmark.reports.tables.tasks import with_parameters_and_names

PIPELINE, MICROBATCH = "pipeline", "microbatch"


@dataclass(frozen=True)
class Analysis:
    """The tables by name, the tasks behind them, and the record of machine and software.

    Tables by k are of the problem `pipeline`, as far as its instances have a k.

    Attributes
    ----------
    staged
        The tasks behind the tables by k.
    methods
        Of the tasks that are in no table by k.
    schedules, bubble_rates, search_time, search_time_ratios, best_schedules
        Of the problem `microbatch`.
    communication
        Of the schedules drawn.
    drawings
        Boxes of schedules, by instance hash.
    environment
        None if the folder has no `environment.json`.
    """

    tasks: pd.DataFrame
    certified: pd.DataFrame
    bounds_by_k: pd.DataFrame
    gap_by_k: pd.DataFrame
    heuristics_by_k: pd.DataFrame
    reference_bounds: pd.DataFrame
    runtime_by_k: pd.DataFrame
    anytime_by_k: pd.DataFrame
    staged: pd.DataFrame
    methods: pd.DataFrame
    schedules: pd.DataFrame
    best_schedules: pd.DataFrame
    bubble_rates: pd.DataFrame
    search_time: pd.DataFrame
    search_time_ratios: pd.DataFrame
    communication: pd.DataFrame
    drawings: Mapping[str, pd.DataFrame]
    failures: pd.DataFrame
    contradicted_claims: pd.DataFrame
    environment: dict[str, Any] | None

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return what is stored as `tables/*.parquet`."""
        return {
            "certified": self.certified,
            "bounds_by_k": self.bounds_by_k,
            "gap_by_k": self.gap_by_k,
            "heuristics_by_k": self.heuristics_by_k,
            "runtime_by_k": self.runtime_by_k,
            "anytime_by_k": self.anytime_by_k,
            "methods": self.methods,
            "schedules": self.schedules,
            "bubble_rates": self.bubble_rates,
            "search_time": self.search_time,
            "search_time_ratios": self.search_time_ratios,
            "communication": self.communication,
            "failures": self.failures,
            "contradicted_claims": self.contradicted_claims,
        }


def analyse(store: ResultStore) -> Analysis:
    """Compute all tables.

    Raises
    ------
    StoreError
        If there are no results, they contradict each other, or a file cannot be read.
    """
    results = store.results()
    if len(results) == 0:
        raise StoreError(
            f"{store.directory} holds no results; expected at least one finished task."
        )
    certified = certified_table(results)
    tasks = with_parameters_and_names(results)
    staged, known = tasks[has_k(tasks)], certified[has_k(certified)]
    schedules = schedule_table(tasks, store)
    best = best_schedules(schedules, certified)
    times = search_time(schedules)
    chosen = chosen_for_drawing(best)
    drawn = _stored(chosen, store)
    return Analysis(
        tasks=tasks,
        certified=certified,
        bounds_by_k=bounds_by_k(staged, known),
        gap_by_k=gap_by_k(known),
        heuristics_by_k=heuristics_by_k(staged, known),
        reference_bounds=reference_bounds(staged, known),
        runtime_by_k=runtime_by_k(staged),
        anytime_by_k=anytime_by_k(staged, store.traces(), known),
        staged=staged,
        methods=method_table(tasks[~has_k(tasks)], certified),
        schedules=schedules,
        best_schedules=best,
        bubble_rates=bubble_rates(schedules),
        search_time=times,
        search_time_ratios=mean_ratios(times),
        communication=communication_table(chosen, drawn),
        drawings={sha: schedule_boxes(*pair) for sha, pair in drawn.items()},
        failures=failures(tasks),
        contradicted_claims=contradicted_claims(tasks, certified),
        environment=_environment(store),
    )


def has_k(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are in tables by k."""
    return (table["problem"] == PIPELINE) & table["k"].notna()


def _stored(
    chosen: pd.DataFrame, store: ResultStore
) -> dict[str, tuple[MicrobatchInstance, Schedule]]:
    found = {}
    for row in rows(chosen):
        instance = stored_instance(store, row.instance_sha256)
        schedule = stored_schedule(store, row.solution_sha256)
        if instance is not None and schedule is not None:
            found[row.instance_sha256] = (instance, schedule)
    return found


def _environment(store: ResultStore) -> dict[str, Any] | None:
    path = store.environment
    if not path.exists():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(value, dict):
        raise StoreError(f"{path} holds a {type(value).__name__}; expected a JSON object.")
    return value
