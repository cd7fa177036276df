"""The Python API about results folders: `run` fills one, `results` reads it as frames."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from boundmark.benchmarks.arguments import check_flags, names_in, path_of
from boundmark.benchmarks.running.execution.engine import make_engine
from boundmark.benchmarks.running.progress import progress_console
from boundmark.benchmarks.running.runner import Wanted, run_collection
from boundmark.benchmarks.running.settings import LONGEST_SECONDS, positive_number
from boundmark.benchmarks.running.suite_file import load_collection
from boundmark.benchmarks.solving.model import html_table
from boundmark.problems.arrays import plain_value
from boundmark.problems.errors import InvalidInputError, find, quoted
from boundmark.reports.folder_results import FolderResults, read_folder
from boundmark.reports.methods import method_table
from boundmark.reports.stored.run_records import read_notes
from boundmark.reports.stored.statuses import FAILURES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.parameters import with_parameter_columns


@dataclass(frozen=True, repr=False, eq=False)
class Results:
    """A results folder as data frames; `boundmark columns` says what each column means.

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
