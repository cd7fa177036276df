"""Runs planned tasks into a results folder: skips stored ones, executes the others, stores."""

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from boundmark.benchmarks.environment import describe_environment
from boundmark.benchmarks.execution.engine import Engine
from boundmark.benchmarks.execution.task import Outcome
from boundmark.benchmarks.label_pattern import LabelPatterns
from boundmark.benchmarks.machine_speed import MachineSpeed
from boundmark.benchmarks.planning import PlannedTask
from boundmark.benchmarks.rows import (
    RowWriter,
    read_instance,
    store_environment,
    store_instance,
    store_labels,
)
from boundmark.benchmarks.suite import NamedInstance
from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.files import open_regular
from boundmark.problems.json_documents import canonical_json
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore

# Opening a folder takes time for each file in it; a killed run must not leave too many.
ROWS_A_COMPACTION = 1000


@dataclass
class RunSummary:
    """Counts of the tasks of a run, by how they ended.

    Attributes
    ----------
    planned
        Tasks of the suite, filters applied.
    reused
        Those that the folder already had.
    statuses
        How often each status came up among the others.
    stored
        How often each status stands in the folder, of all planned tasks.
    unsupported
        Method and reason of each task that its method did not support.
    """

    planned: int
    reused: int
    statuses: dict[str, int] = field(default_factory=dict)
    stored: Mapping[str, int] = field(default_factory=dict)
    unsupported: list[tuple[str, str]] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Number of tasks that were run."""
        return sum(self.statuses.values())

    def count(self, outcome: Outcome) -> None:
        """Note that a task has ended."""
        self.statuses[outcome.status] = self.statuses.get(outcome.status, 0) + 1
        if outcome.status == "unsupported":
            self.unsupported.append((outcome.task.method, outcome.status_detail or ""))


@dataclass(frozen=True)
class Wanted:
    """Settings of which planned tasks are run.

    Attributes
    ----------
    retry
        Statuses whose stored rows do not count as finished.
    patterns
        Shell patterns of which a task's label has to match one; all tasks if there are none.
    rerun
        Methods whose stored rows do not count as finished.
    """

    retry: Collection[str] = ()
    patterns: Collection[str] = ()
    rerun: Collection[str] = ()

    def matches(self, planned: PlannedTask) -> bool:
        """Whether a task's label matches a pattern."""
        return LabelPatterns.of(self.patterns).matches(planned.label)

    def no_match(self) -> InvalidInputError:
        """Return the error that no task is wanted."""
        if not self.patterns:
            return InvalidInputError("the suite has no tasks; expected at least one to run.")
        given = " or ".join(map(repr, self.patterns))
        return InvalidInputError(
            f"no task matches {given}; labels look like 'onnx-light/resnet50 k=8 share'."
        )


ALL = Wanted()


def run_planned(
    planned: Iterable[PlannedTask],
    directory: Path,
    engine: Engine,
    wanted: Wanted = ALL,
    *,
    on_start: Callable[[int, int], None] = lambda planned, to_do: None,
    on_finish: Callable[[PlannedTask, Outcome], None] = lambda planned, outcome: None,
) -> RunSummary:
    """Run the planned tasks that a folder lacks.

    Parameters
    ----------
    planned
        Usually from `planning.plan_tasks`.
    wanted
        Which of them; by default all that are not stored.
    on_start, on_finish
        Called once with the numbers of planned tasks and of tasks to do; after each stored task.

    Raises
    ------
    StoreError
        If the folder cannot be used, or another run is writing to it.
    InvalidInputError
        If the patterns leave no task.
    """
    with _only_writer(directory) as store:
        store.remove_partial_files()
        by_id = {item.task.task_id: item for item in planned if wanted.matches(item)}
        if not by_id:
            raise wanted.no_match()
        to_do = missing_tasks(store, by_id, wanted)
        summary = RunSummary(len(by_id), len(by_id) - len(to_do))
        on_start(summary.planned, len(to_do))
        if to_do:
            sources = {item.task.instance_sha256: item.source for item in to_do}
            _store_beforehand(store, sources.values())
            _execute(store, by_id, to_do, engine, summary, on_finish)
        # Also if there was nothing to do: the run that did it may have been killed before this.
        store.compact()
        ended = store.finished()
        summary.stored = Counter(ended[task_id] for task_id in by_id if task_id in ended)
    return summary


def missing_tasks(
    store: ResultStore, by_id: Mapping[str, PlannedTask], wanted: Wanted
) -> list[PlannedTask]:
    """Return the planned tasks that a folder lacks, or that are wanted again."""
    finished = {
        task_id for task_id, status in store.finished().items() if status not in wanted.retry
    }
    return [
        item
        for task_id, item in by_id.items()
        if task_id not in finished or item.task.method in wanted.rerun
    ]


@contextmanager
def storing(
    source: NamedInstance, directory: Path
) -> Iterator[Callable[[Sequence[tuple[PlannedTask, Outcome]]], None]]:
    """Yield a function that stores tasks about one instance, which have ended, in a folder.

    Raises
    ------
    StoreError
        If the folder cannot be used, or another run is writing to it.
    """
    with _only_writer(directory) as store:
        store.remove_partial_files()
        _store_beforehand(store, [source])
        try:
            yield RowWriter(store).write
        finally:
            store.compact()


def _store_beforehand(store: ResultStore, sources: Iterable[NamedInstance]) -> None:
    """Store what rows refer to and is known before any task runs: instances, environment."""
    for source in sources:
        store_instance(store, source.instance)
        store_labels(store, source)
    record = describe_environment()
    store_environment(store, record)
    write_durably(store.environment, canonical_json(record).encode())


def _execute(
    store: ResultStore,
    by_id: Mapping[str, PlannedTask],
    to_do: Iterable[PlannedTask],
    engine: Engine,
    summary: RunSummary,
    on_finish: Callable[[PlannedTask, Outcome], None],
) -> None:
    writer, speed = RowWriter(store), MachineSpeed(store)

    def keep(outcomes: Sequence[Outcome]) -> None:
        items = [(by_id[outcome.task.task_id], outcome) for outcome in outcomes]
        compactions = summary.done // ROWS_A_COMPACTION
        writer.write(items)
        for outcome in outcomes:
            summary.count(outcome)
            speed.after(outcome)
        if summary.done // ROWS_A_COMPACTION > compactions:
            store.compact()
        for item, outcome in items:
            on_finish(item, outcome)

    engine.run((item.task for item in to_do), partial(read_instance, store), keep)


@contextmanager
def _only_writer(directory: Path) -> Iterator[ResultStore]:
    """Lock a folder before anything in it is read or made, and open it.

    What the last writer has left must not change between opening and locking.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.fdopen(open_regular(directory / ".lock", os.O_RDWR | os.O_CREAT), "r+")
    except OSError as error:
        raise StoreError(
            f"{directory} cannot be used as a results folder: {error.strerror}."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            reason = (
                "another run is writing to this folder; expected to be the only one"
                if isinstance(error, BlockingIOError)
                else f"the folder cannot be locked: {error.strerror}"
            )
            raise StoreError(f"{directory}: {reason}.") from error
        yield ResultStore.create_or_open(directory)
