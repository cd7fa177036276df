"""Checks a results folder whole: its documents, its rows, and their progress over time."""

from collections.abc import Iterator
from pathlib import Path

from boundmark.benchmarks.folder_check.documents import Documents, check_documents
from boundmark.benchmarks.folder_check.labels import check_labels
from boundmark.benchmarks.folder_check.machines import check_machines
from boundmark.benchmarks.folder_check.rows import contradictions, row_faults, row_label, rows_of
from boundmark.benchmarks.folder_check.traces import trace_faults
from boundmark.benchmarks.folder_check.verdict import Verdict
from boundmark.reports.stored.store import ResultStore


def check_folder(directory: Path) -> Iterator[Verdict]:
    """Yield a verdict on every document and every row of a results folder.

    A row is accepted if everything that it states of its instance, cost, bound and machine follows
    from the accepted documents, which name its method, its task's identity follows from what was
    run, its status, exit and times go together, and its trace ends where it says.

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
