"""Runs a suite into a results folder: plan, skip what is there, execute, store."""

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from boundmark.benchmarks.environment import describe_environment
from boundmark.benchmarks.execution.local_engine import run_tasks
from boundmark.benchmarks.execution.task import Outcome, Task
from boundmark.benchmarks.suite import MethodChoice, NamedInstance, Suite
from boundmark.problems.canonical import canonical_json, sha256_hex
from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.reports.stored.documents import write_document
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore

GIB = 2**30

# Opening a folder takes time for each file in it; a killed run must not leave too many.
ROWS_A_COMPACTION = 1000


@dataclass(frozen=True)
class PlannedTask:
    """A task and what its row says of it beyond the outcome."""

    task: Task
    source: NamedInstance
    method_kind: str

    @property
    def label(self) -> str:
        """What filters match and progress shows, e.g. ``"onnx-light/resnet50 k=8 share"``."""
        return f"{self.source.label} {self.task.method}"


@dataclass
class RunSummary:
    """What a run did.

    Attributes
    ----------
    planned
        Tasks of the suite, filters applied.
    reused
        Those that the folder already had.
    statuses
        How often each status came up among the others.
    """

    planned: int
    reused: int
    statuses: dict[str, int] = field(default_factory=dict)


def run_suite(
    suite: Suite,
    sources: Iterable[NamedInstance],
    directory: Path,
    *,
    workers: int,
    retry: Collection[str] = (),
    pattern: str | None = None,
    on_start: Callable[[int, int], None] = lambda planned, to_do: None,
    on_finish: Callable[[PlannedTask, Outcome], None] = lambda planned, outcome: None,
) -> RunSummary:
    """Run what a folder lacks of a suite.

    Parameters
    ----------
    sources
        The instances; usually ``suite.load_instances()``.
    workers
        Tasks at a time.
    retry
        Statuses whose stored rows do not count as finished.
    pattern
        Shell pattern that a task's label has to match.
    on_start, on_finish
        Called once with the numbers of planned tasks and of tasks to do; after each stored task.

    Raises
    ------
    StoreError
        If the folder cannot be used, or another run is writing to it.
    InvalidInputError
        If the pattern leaves no task.
    """
    store = ResultStore.create_or_open(directory)
    with _only_writer(directory):
        planned = [
            item
            for item in plan(suite, sources, directory)
            if pattern is None or _matches(item, pattern)
        ]
        if not planned:
            raise InvalidInputError(
                f"suite {suite.name} has no task that matches {pattern!r}; labels look like "
                "'onnx-light/resnet50 k=8 share'."
            )
        finished = {task_id for task_id, status in store.finished().items() if status not in retry}
        by_id = {item.task.task_id: item for item in planned}
        to_do = [item for task_id, item in by_id.items() if task_id not in finished]
        summary = RunSummary(len(by_id), len(by_id) - len(to_do))
        on_start(len(by_id), len(to_do))
        if not to_do:
            return summary
        environment = _store_environment(directory)

        def keep(outcome: Outcome) -> None:
            item = by_id[outcome.task.task_id]
            store.append(
                _row(suite, item, outcome, directory, environment),
                [
                    {
                        "task_id": outcome.task.task_id,
                        "seconds": event.seconds,
                        "kind": event.kind,
                        "value": float(event.value),
                    }
                    for event in outcome.events
                ],
            )
            summary.statuses[outcome.status] = summary.statuses.get(outcome.status, 0) + 1
            if sum(summary.statuses.values()) % ROWS_A_COMPACTION == 0:
                store.compact()
            on_finish(item, outcome)

        run_tasks([item.task for item in to_do], workers=workers, on_outcome=keep)
        store.compact()
    return summary


def plan(suite: Suite, sources: Iterable[NamedInstance], directory: Path) -> Iterator[PlannedTask]:
    """Yield the suite's tasks, instance by instance, and store the instances they read."""
    for source in sources:
        folder = directory / "instances"
        path = folder / f"{source.instance.sha256}.json"
        if not path.exists():
            write_document(folder, source.instance.to_json())
        for choice in (*suite.methods, *source.methods):
            for seed in suite.seeds if choice.method.seeded else suite.seeds[:1]:
                task = _task(suite, source, path, choice, seed)
                yield PlannedTask(task, source, choice.method.kind)


def _task(suite: Suite, source: NamedInstance, path: Path, choice: MethodChoice, seed: int) -> Task:
    return Task(
        instance_path=path,
        instance_sha256=source.instance.sha256,
        problem=suite.problem,
        method=choice.method.name,
        method_version=choice.method.version,
        params=choice.params,
        seed=seed,
        time_limit_seconds=suite.time_limit_seconds,
        memory_limit_bytes=int(suite.memory_limit_gib * GIB),
        threads=suite.threads,
    )


def _matches(item: PlannedTask, pattern: str) -> bool:
    return fnmatchcase(item.label, pattern) or fnmatchcase(item.label, f"*{pattern}*")


@contextmanager
def _only_writer(directory: Path) -> Iterator[None]:
    with (directory / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(
                f"{directory}: another run is writing to this folder; expected to be the only one."
            ) from error
        yield


def _store_environment(directory: Path) -> str:
    """Store the environment record and return its hash.

    `environment.json` is the newest run's; a resumed folder keeps those of earlier runs beside it.
    """
    record = describe_environment()
    text = canonical_json(record)
    # Runs that differ in the machine's load only are of one environment.
    digest = sha256_hex(canonical_json({**record, "load_at_start": None}))
    (directory / "environments").mkdir(exist_ok=True)
    write_durably(directory / "environments" / f"{digest}.json", text.encode())
    write_durably(directory / "environment.json", text.encode())
    return digest


def _row(
    suite: Suite, item: PlannedTask, outcome: Outcome, directory: Path, environment: str
) -> dict[str, Any]:
    task, instance = item.task, item.source.instance
    return {
        "task_id": task.task_id,
        "suite": suite.name,
        "problem": task.problem,
        "dataset": item.source.dataset,
        "instance": item.source.member,
        "instance_sha256": task.instance_sha256,
        "instance_params": json.dumps(dict(instance.parameters), sort_keys=True),
        "nodes": instance.nodes,
        "edges": instance.edges,
        "method": task.method,
        "method_kind": item.method_kind,
        "method_version": task.method_version,
        "params": json.dumps(dict(task.params), sort_keys=True),
        "seed": task.seed,
        "status": outcome.status,
        "status_detail": outcome.status_detail,
        "exit_code": outcome.exit_code,
        "exit_signal": outcome.exit_signal,
        "stderr_tail": outcome.stderr_tail,
        "objective": outcome.objective,
        "bound_certified": outcome.bound_certified,
        "bound_claimed": outcome.bound_claimed,
        "bound_kind": outcome.bound_kind,
        "solution_sha256": _stored(directory / "solutions", outcome.solution),
        "certificate_sha256": _stored(directory / "certificates", outcome.certificate),
        "verify_seconds": outcome.verify_seconds,
        "wall_seconds": outcome.wall_seconds,
        "cpu_seconds": outcome.cpu_seconds,
        "peak_rss_bytes": outcome.peak_rss_bytes,
        "time_limit_seconds": task.time_limit_seconds,
        "memory_limit_bytes": task.memory_limit_bytes,
        "threads": task.threads,
        "started_at": outcome.started_at,
        "host": os.uname().nodename,
        "environment_sha256": environment,
    }


def _stored(folder: Path, document: dict[str, Any] | None) -> str | None:
    return None if document is None else write_document(folder, document)
