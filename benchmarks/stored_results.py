"""The Python API about results folders: `run` fills one, `results` reads it as frames."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from boundmark.benchmarks.engines import make_engine
from boundmark.benchmarks.execution.engine import Engine
from boundmark.benchmarks.kernels import compile_kernels
from boundmark.benchmarks.model import html_table
from boundmark.benchmarks.planning import plan_tasks
from boundmark.benchmarks.progress import progress_console, task_progress
from boundmark.benchmarks.runner import RunSummary, Wanted, run_planned
from boundmark.benchmarks.suite_file import load_collection
from boundmark.benchmarks.terminal import plain
from boundmark.problems.lookup import find
from boundmark.reports.folder_results import FolderResults, read_folder
from boundmark.reports.stored.statuses import FAILURES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.methods import method_table
from boundmark.reports.tables.parameters import with_parameter_columns

if TYPE_CHECKING:
    from rich.console import Console

    from boundmark.benchmarks.suite import Collection as Suites


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
        """Where the results are."""
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
        """What tasks reported when: `task_id`, `seconds`, `kind`, `value`."""
        return self.record.traces

    @property
    def rejected(self) -> pd.DataFrame:
        """Costs and bounds that are left out because no document supports them."""
        return self.record.unsupported

    def facts(self) -> dict[str, str]:
        """Return what there is, in words."""
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
    return Results(read_folder(ResultStore.open(Path(folder)), unchecked=unchecked))


def run(
    suite: str | Path,
    out: str | Path,
    *,
    small: bool = False,
    seconds: float | None = None,
    workers: int | None = None,
    filter: str | None = None,  # noqa: A002
    retry: Collection[str] = (),
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
        Only tasks whose label, e.g. ``"onnx-light/resnet50 k=8 share"``, matches or contains this.
    retry
        Statuses, e.g. ``"timeout"``, of stored tasks that are run again.
    quiet
        Whether to show no progress.

    Raises
    ------
    Error
        If something is not understood, or the folder cannot be used.
    """
    for status in retry:
        find("status", status, dict.fromkeys(FAILURES))
    run_collection(
        load_collection(str(suite), small=small),
        Path(out),
        make_engine("local", workers),
        Wanted(tuple(retry), filter),
        seconds=seconds,
        console=progress_console(quiet),
    )
    return results(out)


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
    """Run the tasks of suites that a folder lacks, with a bar that shows how far it is.

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
    with task_progress(console, chosen.name) as (on_start, on_finish):
        planned = (
            plan_tasks(
                part.name,
                part.load_instances(lambda reason: console.print(plain(f"left out: {reason}"))),
                part.methods,
                part.settings.with_limits(seconds, memory_gib),
            )
            for part in chosen.suites
        )
        return run_planned(
            chain.from_iterable(planned),
            out,
            engine,
            wanted,
            on_start=on_start,
            on_finish=on_finish,
        )
