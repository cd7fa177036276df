"""Checks a results folder whole: its documents, its rows, and their progress over time."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.running.folder_verification.documents import (
    Documents,
    Shelf,
    Verdict,
    VerifiedInstance,
    verify_documents,
)
from boundmark.benchmarks.running.folder_verification.rows import (
    contradictions,
    row_faults,
    row_label,
    rows_of,
)
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import read_labels
from boundmark.reports.stored.accepted import Accepted
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verification import OWN_PROBLEMS


def verify_folder(directory: Path, accepted: Accepted | None = None) -> Iterator[Verdict]:
    """Yield a verdict on every document and every row of a results folder.

    A row is accepted if everything that it states of its instance, cost and bound follows from the
    accepted documents, which name its method, its task's identity follows from what was run, and
    its trace ends where it says.
    """
    store = ResultStore.open(directory)
    rows = list(rows_of(store.results()))
    traces = store.traces()
    documents = Documents()
    yield from verify_documents(directory, documents)
    if accepted is not None:
        remember(documents, accepted)
    yield from check_labels(store.labels, documents.instances)
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


def remember(documents: Documents, accepted: Accepted) -> None:
    """Add the accepted solutions and certificates of problems that the checker itself knows."""
    solutions, certificates = documents.solutions.accepted, documents.certificates.accepted
    names = {f"solutions/{digest}.json": one.instance_sha256 for digest, one in solutions.items()}
    names |= {
        f"certificates/{digest}.json": one.instance_sha256 for digest, one in certificates.items()
    }
    for name, instance in names.items():
        if documents.instances.accepted[instance].problem in OWN_PROBLEMS:
            accepted.add(instance, name)


def check_labels(folder: Path, instances: Shelf[VerifiedInstance]) -> Iterator[Verdict]:
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
    """Yield a clause for each event of a task that contradicts its row."""
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
