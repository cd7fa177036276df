"""The Python API about results folders: `run` fills one, `results` reads it as frames."""

import datetime as dt
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from boundmark.benchmarks.arguments import check_flags, names_in, path_of
from boundmark.benchmarks.engines import make_engine
from boundmark.benchmarks.execution.engine import Engine
from boundmark.benchmarks.kernels import compile_kernels
from boundmark.benchmarks.label_pattern import LabelPatterns
from boundmark.benchmarks.method_sources import source_hash
from boundmark.benchmarks.model import html_table
from boundmark.benchmarks.planning import PlannedTask, plan_tasks
from boundmark.benchmarks.progress import progress_console, task_progress
from boundmark.benchmarks.runner import RunSummary, Wanted, run_planned
from boundmark.benchmarks.settings import LONGEST_SECONDS, positive_number
from boundmark.benchmarks.suite import NamedInstance
from boundmark.benchmarks.suite_file import load_collection
from boundmark.benchmarks.terminal import plain
from boundmark.problems.arrays import plain_value
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.problems.method import Method
from boundmark.reports.folder_results import FolderResults, read_folder
from boundmark.reports.methods import method_table
from boundmark.reports.stored.run_records import Notes, read_notes, write_notes
from boundmark.reports.stored.schema import FAILURES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.parameters import with_parameter_columns

if TYPE_CHECKING:
    from rich.console import Console

    from boundmark.benchmarks.suite import Collection as Suites
    from boundmark.benchmarks.suite import Suite


@dataclass(frozen=True, repr=False, eq=False)
class Results:
    """A results folder as data frames; `docs/tables.md` says what each column means.

    Attributes
    ----------
    record
        All that reports make of the folder.
    """

    record: FolderResults

    @property
    def folder(self) -> Path:
        """The results folder."""
        return self.record.store.directory

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """A row for each task: instance, method, status, verified cost, certified bound, times.

        A column for each parameter of instances, such as `param_k`, comes last.
        """
        return with_parameter_columns(self.record.tasks)

    @cached_property
    def best(self) -> pd.DataFrame:
        """A row for each instance: `objective`, `bound` and `gap`, each the best of all methods."""
        return with_parameter_columns(self.record.certified)

    @cached_property
    def methods(self) -> pd.DataFrame:
        """A row for each problem and method: mean gaps, times and numbers of instances."""
        tables = []
        for problem in self.record.problems:
            own = self.record.tasks[self.record.tasks["problem"] == problem]
            known = self.record.certified[self.record.certified["problem"] == problem]
            table = method_table(own, known)
            table.insert(0, "problem", problem)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    @property
    def traces(self) -> pd.DataFrame:
        """A row for each report of a task: `task_id`, `seconds`, `kind`, `value`."""
        return self.record.traces

    @property
    def left_out(self) -> pd.DataFrame:
        """Files of suites that could not be read or treated: `file` and `reason`."""
        notes = read_notes(self.record.store)
        return pd.DataFrame(list(notes.left_out.items()), columns=["file", "reason"])

    @property
    def rejected(self) -> pd.DataFrame:
        """Costs and bounds that are left out because no document supports them."""
        return self.record.unsupported

    def facts(self) -> dict[str, str]:
        """Return a summary of the results, in words."""
        best = self.best
        return {
            "results": str(self.folder),
            "problems": ", ".join(self.record.problems),
            "instances": f"{len(best):,}, {int(best['optimal'].sum()):,} of them proven optimal",
            "tasks": f"{len(self.tasks):,}",
        }

    def __repr__(self) -> str:
        facts = self.facts()
        return f"<{', '.join(f'{key} {value}' for key, value in facts.items())}>"

    def _repr_html_(self) -> str:
        return html_table(self.facts()) + str(self.methods.to_html(index=False))


def results(folder: str | Path, *, unchecked: bool = False) -> Results:
    """Read a results folder.

    Parameters
    ----------
    unchecked
        Whether to believe documents that the checker has not seen; by default it sees those with
        the best cost and the best bound of each instance, once.

    Raises
    ------
    Error
        If there are no results, they contradict each other, or a file cannot be read.
    """
    check_flags(unchecked=unchecked)
    return Results(read_folder(ResultStore.open(path_of("folder", folder)), unchecked=unchecked))


def run(
    suite: str | Path,
    out: str | Path,
    *,
    small: bool = False,
    seconds: float | None = None,
    workers: int | None = None,
    filter: str | Collection[str] | None = None,  # noqa: A002
    retry: str | Collection[str] = (),
    rerun: str | Collection[str] = (),
    quiet: bool = False,
) -> Results:
    """Run a suite into a results folder, and return what the folder then holds.

    Tasks that the folder holds already are not run again, so that a run that was ended, by Ctrl-C
    for instance, goes on where it was.

    Parameters
    ----------
    suite
        Name of a suite, or a TOML file; `boundmark suites` lists them.
    out
        Results folder; it need not be there yet.
    small
        Whether to run the suite's small form.
    seconds
        Limit of each task, instead of the suite's.
    workers
        Tasks at a time; one per CPU by default.
    filter
        Shell patterns: only tasks whose label, e.g. ``"onnx-light/resnet50 k=8 share"``, matches or
        contains one of them.
    retry
        Statuses, e.g. ``"timeout"``, of stored tasks that are run again.
    rerun
        Names of methods whose stored tasks are run again.
    quiet
        Whether to show no progress.

    Raises
    ------
    Error
        If something is not understood, or the folder cannot be used.
    """
    if not isinstance(suite, str | Path) or not str(suite):
        raise InvalidInputError(
            f"suite is {quoted(suite)}; expected the name of a suite or the path of a file."
        )
    check_flags(small=small, quiet=quiet)
    if seconds is not None:
        seconds = positive_number("seconds", plain_value(seconds), LONGEST_SECONDS)
    patterns = () if filter is None else names_in("filter", filter, "pattern")
    statuses = names_in("retry", retry)
    for status in statuses:
        find("status", status, dict.fromkeys(FAILURES))
    folder = path_of("out", out)
    run_collection(
        load_collection(str(suite), small=small),
        folder,
        make_engine("local", workers),
        Wanted(statuses, patterns, names_in("rerun", rerun)),
        seconds=seconds,
        console=progress_console(quiet),
    )
    return results(folder)


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

    Parameters
    ----------
    seconds, memory_gib
        Limits of each task, instead of the suites'.

    Raises
    ------
    BoundmarkError
        See `run_planned` and `Suite.load_instances`.
    """
    for problem in dict.fromkeys(part.problem for part in chosen.suites):
        compile_kernels(console, problem)
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
        """Store the notes of this run; warn of stored tasks of methods that have changed.

        Raises
        ------
        UnknownNameError
            If a method that is to run again is none of the suites'.
        """
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
        self.console.print(plain(text), soft_wrap=True)
