"""Checks a results folder whole: its documents, its rows, and their progress over time."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.folder_check.documents import (
    CheckedInstance,
    Documents,
    Shelf,
    Verdict,
    check_documents,
)
from boundmark.benchmarks.folder_check.rows import contradictions, row_faults, row_label, rows_of
from boundmark.benchmarks.storing import environment_sha256
from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.labels import read_labels
from boundmark.reports.stored.accepted import Accepted
from boundmark.reports.stored.checking import OWN_PROBLEMS
from boundmark.reports.stored.run_records import read_seconds, seconds_sha256
from boundmark.reports.stored.store import ResultStore, read_json


def check_folder(directory: Path, accepted: Accepted | None = None) -> Iterator[Verdict]:
    """Yield a verdict on every document and every row of a results folder.

    A row is accepted if everything that it states of its instance, cost, bound and machine follows
    from the accepted documents, which name its method, its task's identity follows from what was
    run, its status, exit and times go together, and its trace ends where it says.

    Parameters
    ----------
    accepted
        Gets the accepted documents, so that reports and comparisons need not check them again. It
        is not asked: here, everything is checked.

    Raises
    ------
    StoreError
        If the folder holds no results, or they cannot be read.
    """
    store = ResultStore.open(directory)
    rows = list(rows_of(store.results()))
    traces = store.traces()
    documents = Documents()
    yield from check_documents(directory, documents)
    if accepted is not None:
        _remember(documents, accepted)
    yield from check_labels(store.labels, documents.instances)
    yield from check_machines(store, documents.environments)
    by_task = dict(iter(traces.groupby("task_id")))
    nothing = traces.iloc[:0]
    for row in rows:
        events = by_task.pop(row["task_id"], nothing)
        faults = [*row_faults(row, documents), *trace_faults(row, events)]
        yield Verdict(f"{directory}: {row_label(row)}", "; ".join(faults) or None)
    for task_id in by_task:
        yield Verdict(f"{directory}: trace of task {task_id!r:.70}", "no row belongs to it")
    for label, reason in contradictions(rows):
        yield Verdict(f"{directory}: {label}", reason)


def _remember(documents: Documents, accepted: Accepted) -> None:
    """Add the accepted solutions and certificates of problems that the checker itself knows."""
    solutions, certificates = documents.solutions.accepted, documents.certificates.accepted
    names = {f"solutions/{digest}.json": one.instance_sha256 for digest, one in solutions.items()}
    names |= {
        f"certificates/{digest}.json": one.instance_sha256 for digest, one in certificates.items()
    }
    for name, instance in names.items():
        if documents.instances.accepted[instance].problem in OWN_PROBLEMS:
            accepted.add(instance, name)


def check_labels(folder: Path, instances: Shelf[CheckedInstance]) -> Iterator[Verdict]:
    """Yield a verdict on each file: it holds one name for each node of an accepted instance."""
    for path in sorted(folder.glob("*.json")):
        owner = instances.accepted.get(path.stem)
        if owner is None:
            reason = f"its instance cannot be used: {instances.fault(path.stem)}"
            yield Verdict(str(path), reason)
            continue
        try:
            read_labels(path, problem=owner.problem, instance_sha256=path.stem, nodes=owner.nodes)
        except InvalidInputError as error:
            yield Verdict(str(path), str(error).removeprefix(f"{path}: "))
        else:
            yield Verdict(str(path), None)


# Kind of event, the row's column with the final value, and whether smaller is better.
FINALS = (
    ("solution", "objective", True),
    ("bound_certified", "bound_certified", False),
    ("bound_claimed", "bound_claimed", False),
)


def trace_faults(row: Mapping[str, Any], events: pd.DataFrame) -> Iterator[str]:
    """Yield a clause for each event of a task that contradicts its row.

    Parameters
    ----------
    events
        The task's events, with columns `seconds`, `kind` and `value`.
    """
    known = [kind for kind, _, _ in FINALS]
    for kind in sorted(set(events["kind"]) - set(known)):
        yield f"its trace has the kind {kind!r}; expected one of {', '.join(known)}"
    if not all(math.isfinite(seconds) and seconds >= 0 for seconds in events["seconds"]):
        yield "its trace has a time that is no non-negative number of seconds"
    wall = row["wall_seconds"]
    if wall is not None and (events["seconds"] > wall).any():
        yield f"its trace goes on for {events['seconds'].max():g} s, its task for {wall:g} s"
    for kind, column, is_smaller_better in FINALS:
        values = events.loc[events["kind"] == kind, "value"]
        final = row[column]
        if values.empty and final is None:
            continue
        reached = None if values.empty else (values.min() if is_smaller_better else values.max())
        if final is None or reached is None or reached != float(final):
            yield f"{column} is {final}; the best of its trace is {reached}"


def check_machines(store: ResultStore, environments: Shelf[str]) -> Iterator[Verdict]:
    """Yield a verdict on each record of machine and software and on each of a machine's speed.

    Parameters
    ----------
    environments
        Gets the host of each accepted record, by the record's hash.
    """
    for path in sorted(store.environments.glob("*.json")):
        reason = _fault(partial(_check_environment, path, environments))
        if reason is not None:
            environments.rejected[path.stem] = reason
        yield Verdict(str(path), reason)
    if store.environment.exists():
        yield Verdict(str(store.environment), _fault(partial(_check_newest, store, environments)))
    for path in sorted(store.machine.glob("*.json")):
        yield Verdict(str(path), _fault(partial(_check_speed, path)))


def _fault(check: Callable[[], None]) -> str | None:
    try:
        check()
    except (StoreError, checker.Rejected) as error:
        return str(error)
    return None


def _check_environment(path: Path, environments: Shelf[str]) -> None:
    record, digest = _read_environment(path)
    if digest != path.stem:
        raise checker.Rejected(f"its content hashes to {digest}, not to its name")
    environments.accepted[digest] = str(record["host"])


def _check_newest(store: ResultStore, environments: Shelf[str]) -> None:
    """Reject the newest run's environment record unless it is among those that rows can name."""
    _, digest = _read_environment(store.environment)
    fault = environments.fault(digest)
    if fault is not None:
        raise checker.Rejected(f"it is no record that rows can name: {fault}")


def _read_environment(path: Path) -> tuple[dict[str, Any], str]:
    record = read_json(path)
    if not isinstance(record, dict) or not isinstance(record.get("host"), str):
        raise checker.Rejected("it is no object with a host")
    try:
        return record, environment_sha256(record)
    except ValueError as error:
        raise checker.Rejected("it holds a number that JSON does not have") from error


def _check_speed(path: Path) -> None:
    digest = seconds_sha256(read_seconds(path))
    if digest != path.stem:
        raise checker.Rejected(f"its content hashes to {digest}, not to its name")
