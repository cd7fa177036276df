"""The schedules that tasks found, with what they are like beside their objective."""

from typing import Any

import pandas as pd

from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.reports.problem_report import ProblemResults
from boundmark.reports.stored.parsed import read_parsed
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.charged_seconds import charged_seconds
from boundmark.reports.tables.parameters import parameter_column
from boundmark.reports.tables.rows import rows

COLUMNS = [
    "dataset",
    "instance",
    "parameters",
    "instance_sha256",
    "memory",
    "micro_batches",
    "method",
    "method_kind",
    "seed",
    "status",
    "seconds",
    "is_limited",
    "objective",
    "seconds_to_objective",
    "devices",
    "keeps_memory",
    "bubble_rate",
    "repetend_micro_batches",
    "solution_sha256",
]


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
    return pd.concat([own, more], axis=1)[COLUMNS].reset_index(drop=True)


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
