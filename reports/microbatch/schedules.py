"""The schedules that tasks found, and the best one of each instance."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.dictionary import columns_of
from boundmark.reports.pages.page import Cell, Group, Section, Table
from boundmark.reports.problem_report import ProblemResults, Tables
from boundmark.reports.sections.page_tables import PageColumn, page_table
from boundmark.reports.stored.documents import read_parsed
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.parameters import parameter_column
from boundmark.reports.tables.rows import best_rows, rows
from boundmark.reports.tables.tasks import charged_seconds
from boundmark.reports.text import MISSING, decimal, integer, natural_order, percent, text


def schedule_table(results: ProblemResults) -> pd.DataFrame:
    """Return one row per task.

    Returns
    -------
    pandas.DataFrame
        Columns of the tasks; `memory` of a device, and `micro_batches`, 0 if the period counts;
        `seconds`, failures charged as in the tables of time; `is_limited`, whether the task failed
        or used its whole time, so that it needs `seconds` at least; `seconds_to_objective`, when a
        schedule with the verified objective was first reported, missing without traces; `devices`
        and `keeps_memory` (whether blocks hold any) of the instance; `bubble_rate` of the verified
        objective; `repetend_micro_batches`, the number of micro-batches that take part in a
        repetition (N_R of [TESSEL24]). What the stored instance and solution would say is missing
        if they are.

    Raises
    ------
    StoreError
        If a stored instance or solution is damaged.
    """
    own = results.tasks
    has_run = own["status"] != "unsupported"
    seconds = charged_seconds(own).where(has_run)
    limited = has_run & ((own["status"] != "ok") | (seconds >= own["time_limit_seconds"]))
    own = own.assign(
        seconds=seconds,
        is_limited=limited,
        memory=_integers(own, "memory"),
        micro_batches=_integers(own, "micro_batches").fillna(0),
        seconds_to_objective=_seconds_to_objective(own, results.traces),
    )
    store = results.store
    instances = {
        sha256: read_parsed(store.instances, sha256, MicrobatchInstance.from_json)
        for sha256 in own["instance_sha256"].unique()
    }
    found = [_of_task(task, instances[task.instance_sha256], store) for task in rows(own)]
    names = ["devices", "keeps_memory", "bubble_rate", "repetend_micro_batches"]
    more = pd.DataFrame(found, columns=names, index=own.index)
    kinds: Any = {"devices": "Int64", "keeps_memory": "boolean", "bubble_rate": "float64"}
    more = more.astype({**kinds, "repetend_micro_batches": "Int64"})
    return pd.concat([own, more], axis=1)[columns_of("microbatch/schedules")].reset_index(drop=True)


def _integers(tasks: pd.DataFrame, name: str) -> Any:
    """Return a parameter, missing throughout if no instance has it."""
    missing = pd.Series(pd.NA, index=tasks.index)
    return tasks.get(parameter_column(name), missing).astype("Int64")


def _seconds_to_objective(tasks: pd.DataFrame, traces: pd.DataFrame) -> "pd.Series[float]":
    found = traces[traces["kind"] == "solution"]
    first = found.groupby(["task_id", "value"])["seconds"].min().to_dict()
    keys = zip(tasks["task_id"], tasks["objective"].astype("float64"), strict=True)
    return pd.Series([first.get(key) for key in keys], index=tasks.index, dtype="float64")


def _of_task(task: Any, instance: MicrobatchInstance | None, store: ResultStore) -> tuple[Any, ...]:
    if instance is None:
        return None, None, None, None
    layout = instance.layout
    keeps_memory = any(block.memory for block in layout.blocks)
    if pd.isna(task.objective):
        return layout.devices, keeps_memory, None, None
    work = sum(layout.loads) * max(1, instance.micro_batches)
    rate = 1 - work / (layout.devices * int(task.objective))
    schedule = read_parsed(store.solutions, task.solution_sha256, Schedule.from_json)
    involved = None
    if schedule and schedule.repetend:
        members = schedule.repetend.members
        involved = int(members.max() - members.min()) + 1
    return layout.devices, keeps_memory, rate, involved


def best_schedules(schedules: pd.DataFrame, certified: pd.DataFrame) -> pd.DataFrame:
    """Return the best schedule of each instance, joined with the certified table.

    Returns
    -------
    pandas.DataFrame
        The columns of `schedule_table` for the best task, and `bound`, `bound_method`, `claimed`,
        `gap`, `optimal`. Instances without schedule have missing values.
    """
    solved = best_rows(schedules, "objective")
    others = schedules[~schedules["instance_sha256"].isin(solved["instance_sha256"])]
    best = pd.concat([solved, others.drop_duplicates("instance_sha256")])
    best.loc[best["objective"].isna(), ["method"]] = None
    known = ["instance_sha256", "bound", "bound_method", "claimed", "gap", "optimal"]
    merged = certified[known].merge(best, on="instance_sha256", how="inner")
    return merged.reset_index(drop=True)


OBJECTIVES = ((True, "period"), (False, "makespan"))

NOTES = (
    "Best: shortest verified period, or makespan if the number of micro-batches is given, in "
    "ticks. Bound: the best certified bound; claimed: the largest that a solver claims, which "
    "enters no gap. Gap: best/bound - 1; optimal if both are equal.",
    "Bubble: bubble rate, the share of time during which devices idle, averaged over devices: in "
    "the steady state if the period counts, until the makespan otherwise. NR: number of "
    "micro-batches that take part in a repetition. Of several methods with the same value, the "
    "fastest is shown.",
)


def instance_section(results: ProblemResults, tables: Tables) -> Section | None:
    """Return the table with one row per instance, periods before makespans; None without any."""
    best = tables["best_schedules"]
    if len(best) == 0:
        return None
    claimed = PageColumn("claimed", lambda row: decimal(row.claimed, 0))
    columns = (
        PageColumn("layout", lambda row: row.instance, is_text=True),
        PageColumn("parameters", lambda row: row.parameters, is_text=True),
        PageColumn("devices", lambda row: integer(row.devices)),
        PageColumn("best", lambda row: integer(row.objective)),
        PageColumn("bound", lambda row: integer(row.bound)),
        *([claimed] if best["claimed"].notna().any() else []),
        PageColumn("gap (%)", lambda row: "optimal" if row.optimal else percent(row.gap)),
        PageColumn("bubble (%)", lambda row: percent(row.bubble_rate)),
        PageColumn("NR", lambda row: integer(row.repetend_micro_batches)),
        PageColumn("found by", lambda row: text(row.method) or MISSING, is_text=True),
        PageColumn("certified by", lambda row: text(row.bound_method) or MISSING, is_text=True),
    )
    groups = [
        (f"{dataset}: {objective}", rows(own), "")
        for is_period, objective in OBJECTIVES
        for dataset, own in best[(best["micro_batches"] == 0) == is_period].groupby("dataset")
    ]
    title = "Best verified schedule and best certified bound of each instance"
    table = page_table(title, columns, groups, NOTES)
    return Section("Instances", (table,))


def layout_table(
    title: str,
    frame: pd.DataFrame,
    cell: Callable[[Any, pd.DataFrame], Cell],
    notes: tuple[str, ...],
) -> Table:
    """Return the table of a data frame with one row per instance and method.

    Parameters
    ----------
    cell
        Makes a cell from its row, whose name is the method, and all rows of the instance.
    """
    methods = natural_order(frame["method"])
    groups = []
    for parameters in natural_order(frame["parameters"]):
        part = frame[frame["parameters"] == parameters]
        rows = []
        for sha256 in part["instance_sha256"].unique():
            own = part[part["instance_sha256"] == sha256].set_index("method")
            cells = [
                cell(own.loc[name], own) if name in own.index else Cell("") for name in methods
            ]
            rows.append((Cell(str(own["instance"].iloc[0])), *cells))
        heading = (Cell(parameters), Cell(f"n = {len(rows)}"), *(Cell(""),) * (len(methods) - 1))
        groups.append(Group(heading, tuple(rows)))
    return Table(title, ("layout", *methods), tuple(groups), notes)
