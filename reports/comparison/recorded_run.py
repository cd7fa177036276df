"""A run as it is compared: read from its results folder, or from a baseline's file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.baseline import read_baseline, write_baseline
from boundmark.reports.stored.checked_results import Checks, checked_results, ignore
from boundmark.reports.stored.environments import read_environments
from boundmark.reports.stored.machine import reference_seconds
from boundmark.reports.stored.run_label import RunLabel, run_label
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.supported import COLUMNS


@dataclass(frozen=True)
class RecordedRun:
    """A run as it is compared.

    Attributes
    ----------
    path
        Of the folder or the file.
    tasks
        One row per task, with the columns of `schema.RESULTS`; costs and bounds without documents
        are missing.
    unsupported
        One row per cost or bound that is missing for this reason, from `checked_results`.
    environments
        Records of machine and software by hash.
    reference_seconds
        What the reference task took during the run.
    """

    path: Path
    tasks: pd.DataFrame
    unsupported: pd.DataFrame
    environments: Mapping[str, Mapping[str, Any]]
    reference_seconds: tuple[float, ...]

    @property
    def label(self) -> RunLabel:
        """A label that tells this run from others."""
        return run_label(self.tasks, self.environments)


def read_run(path: Path, on_check: Callable[[Checks], None] = ignore) -> RecordedRun:
    """Read a results folder, of which the checker sees the best documents, or a baseline's file.

    Parameters
    ----------
    on_check
        Called with what is checked until now, after every check.

    Raises
    ------
    StoreError
        If it is neither, cannot be read, or is of another schema version.
    """
    if path.is_file():
        kept = read_baseline(path)
        nothing = pd.DataFrame(columns=COLUMNS)
        return RecordedRun(path, kept.rows, nothing, kept.environments, kept.reference_seconds)
    if not path.exists():
        raise StoreError(
            f"{path} does not exist; expected a results folder, or a file that "
            "`boundmark baseline` wrote."
        )
    store = ResultStore.open(path)
    supported = checked_results(store, with_traces=False, on_check=on_check)
    return RecordedRun(
        path,
        supported.results,
        supported.unsupported,
        read_environments(store),
        reference_seconds(store),
    )


def keep_as_baseline(run: RecordedRun, path: Path) -> None:
    """Write what later runs are compared with.

    Raises
    ------
    StoreError
        If the run has no tasks, lacks documents of costs or bounds that hold, or the file cannot be
        written.
    """
    if run.tasks.empty:
        raise StoreError(f"{run.path} holds no results; expected at least one finished task.")
    if len(run.unsupported):
        first = run.unsupported.iloc[0]
        raise StoreError(
            f"{run.path} has {len(run.unsupported)} costs or bounds without documents that hold, "
            f"the first of task {first['task_id']} ({first['reason']}); expected a folder that "
            "`boundmark verify` accepts."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    used = set(run.tasks["environment_sha256"].dropna())
    kept = {digest: record for digest, record in run.environments.items() if digest in used}
    write_baseline(path, run.tasks, kept, run.reference_seconds)
