"""Runs planned tasks into a results folder: skips stored ones, executes the others, stores."""

import datetime as dt
import platform
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from boundmark.benchmarks.running.execution.engine import Engine
from boundmark.benchmarks.running.execution.task import Outcome
from boundmark.benchmarks.running.label_pattern import LabelPatterns
from boundmark.benchmarks.running.method_sources import source_hash
from boundmark.benchmarks.running.planning import NamedInstance, PlannedTask, plan_tasks
from boundmark.benchmarks.running.progress import task_progress
from boundmark.benchmarks.running.storing import (
    RowWriter,
    only_writer,
    read_instance,
    store_beforehand,
)
from boundmark.problems.errors import InvalidInputError, find, printable
from boundmark.problems.method import Method
from boundmark.reports.stored.run_records import (
    Notes,
    read_notes,
    write_notes,
    write_reference_seconds,
)
from boundmark.reports.stored.store import ResultStore

if TYPE_CHECKING:
    from rich.console import Console

    from boundmark.benchmarks.running.suite import Collection as Suites
    from boundmark.benchmarks.running.suite import Suite

# Opening a folder takes time for each file in it; a killed run must not leave too many.
ROWS_A_COMPACTION = 1000


# Length of the walk in `reference_seconds`, and its width, beyond that of fast caches.
STEPS = 400_000
ROOM = 1 << 22


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
    """Run the planned tasks that a folder lacks."""
    with only_writer(directory) as store:
        store.remove_partial_files()
        by_id = {item.task.task_id: item for item in planned if wanted.matches(item)}
        if not by_id:
            raise wanted.no_match()
        to_do = missing_tasks(store, by_id, wanted)
        summary = RunSummary(len(by_id), len(by_id) - len(to_do))
        on_start(summary.planned, len(to_do))
        if to_do:
            sources = {item.task.instance_sha256: item.source for item in to_do}
            store_beforehand(store, sources.values())
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


def reference_seconds() -> float:
    """Return the CPU seconds that the reference task takes here and now.

    A walk over 4 MiB whose every step depends on the last one: arithmetic and memory in a
    proportion that is nobody's in particular. Changing it makes all baselines useless.
    """
    room = bytearray(ROOM)
    began = time.thread_time()
    at = 1
    for _ in range(STEPS):
        at = (at * 1_103_515_245 + 12_345 + room[at & (ROOM - 1)]) & 0xFFFFFFFF
        room[at & (ROOM - 1)] = at & 0xFF
    return time.thread_time() - began


class MachineSpeed:
    """Times the reference task at intervals, and stores the times.

    Parameters
    ----------
    store
        The folder of the run. Only tasks of this machine count: others say nothing about it.
    seconds_between
        Time between two measurements, of about a tenth of a second each: a percent of one CPU.
    """

    def __init__(self, store: ResultStore, seconds_between: float = 10.0) -> None:
        self._store = store
        self._seconds_between = seconds_between
        self._host = platform.node()
        self._file: Path | None = None
        self._seconds: list[float] = []
        self._due = time.monotonic()

    def after(self, outcome: Outcome) -> None:
        """Time the reference task after a task of this machine, if the last time is old enough."""
        elsewhere = outcome.environment is not None and outcome.environment["host"] != self._host
        if time.monotonic() < self._due or elsewhere:
            return
        self._seconds.append(reference_seconds())
        self._file = write_reference_seconds(self._store, self._seconds, self._file)
        self._due = time.monotonic() + self._seconds_between


def run_collection(
    chosen: "Suites",
    out: Path,
    engine: Engine,
    wanted: Wanted,
    *,
    seconds: float | None = None,
    memory_gib: float | None = None,
    console: "Console",
) -> RunSummary:
    """Run the tasks of suites that a folder lacks, with a progress bar.

    What was left out and taken for granted is printed, and noted in the folder; so are the sources
    of the methods. Stored tasks of a method whose sources were others are told of.
    """
    planning = Planning(chosen, seconds, memory_gib, console, wanted.patterns)
    with task_progress(console, chosen.name) as (on_start, on_finish):

        def begin(planned: int, to_do: int) -> None:
            planning.note(ResultStore.open(out), wanted, is_run=to_do > 0)
            on_start(planned, to_do)

        return run_planned(
            planning.tasks(), out, engine, wanted, on_start=begin, on_finish=on_finish
        )


class Planning:
    """Loads the instances of suites, and collects the notes on them.

    Parameters
    ----------
    seconds, memory_gib
        Limits of each task, instead of the suites'.
    console
        Where what is left out and taken for granted is told.
    patterns
        Shell patterns of which a task's label has to match one; all tasks if there are none.
        Instances are not loaded if none of their labels can match.
    """

    def __init__(
        self,
        chosen: "Suites",
        seconds: float | None,
        memory_gib: float | None,
        console: "Console",
        patterns: Collection[str] = (),
    ) -> None:
        self.chosen = chosen
        self.limits = (seconds, memory_gib)
        self.console = console
        self.patterns = LabelPatterns.of(patterns)
        self.left_out: dict[str, str] = {}
        self.assumptions: dict[str, tuple[str, ...]] = {}
        self.methods: dict[str, Method] = {}

    def tasks(self) -> Iterator[PlannedTask]:
        """Yield the tasks of all suites that the patterns choose."""
        for part in self.chosen.suites:
            methods = [choice.method for choice in part.methods]
            methods += [choice.method for group in part.instances for choice in group.methods]
            self.methods.update({method.name: method for method in methods})
            settings = part.settings.with_limits(*self.limits)
            instances = self._instances(part)
            yield from plan_tasks(part.name, instances, part.methods, settings, self.patterns)

    def _instances(self, part: "Suite") -> Iterator[NamedInstance]:
        for instance in part.load_instances(self._missing, self._refused, self.patterns):
            name = f"{instance.dataset}/{instance.member}"
            if name not in self.assumptions:
                self.assumptions[name] = instance.notes
                for note in instance.notes:
                    self._tell(f"warning: {name}: {note}")
            yield instance

    def _missing(self, reason: str) -> None:
        self._tell(f"left out: {reason}")

    def _refused(self, name: str, reason: str) -> None:
        self.left_out[name] = reason
        self._tell(f"left out: {reason}")

    def note(self, store: ResultStore, wanted: Wanted, *, is_run: bool) -> None:
        """Store the notes of this run; warn of stored tasks of methods that have changed."""
        for name in wanted.rerun:
            find("method in the suite", name, self.methods)
        before = read_notes(store)
        after = before.with_run(self.left_out, self.assumptions)
        now = dt.datetime.now(dt.UTC).isoformat()
        for name, method in self.methods.items():
            hashed = source_hash(method)
            if name not in wanted.rerun:
                self._tell_stale(store, before, name, hashed)
            if hashed and is_run:
                after = after.with_sources(name, now, hashed)
        if after != before:
            write_notes(store, after)

    def _tell_stale(self, store: ResultStore, notes: Notes, method: str, hashed: str) -> None:
        if all(known == hashed for _, known in notes.method_sources.get(method, ())):
            return
        rows = store.results()
        rows = rows[
            (rows["method"] == method)
            & (rows["method_version"] == self.methods[method].version)
        ]  # fmt: skip
        earlier = [notes.sources_at(method, time.isoformat()) for time in rows["started_at"]]
        stale = sum(known is not None and known != hashed for known in earlier)
        if stale:
            self._tell(
                f"warning: {stale} stored tasks of {method} were run by other source files than "
                f"those of today, and count all the same; --rerun {method} runs them again, and a "
                "higher version of the method keeps them apart."
            )

    def _tell(self, text: str) -> None:
        self.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
