"""Read a run to compare: from its results folder, or from a baseline's file.

A baseline is one small Parquet file. Its rows are those of `results/*.parquet`, without what only
explains one run. Instances, solutions and certificates stay behind: a baseline has their hashes,
and the run that is compared with it brings its own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.durable import make_folder, write_durably
from boundmark.reports.stored.parquet import (
    as_frame,
    latest_rows,
    open_shard,
)
from boundmark.reports.stored.run_records import (
    RunLabel,
    read_environments,
    reference_seconds,
    run_label,
)
from boundmark.reports.stored.schema import RESULTS, VERSION, VERSION_KEY
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verified_results import COLUMNS, Checks, ignore, verified_results


@dataclass(frozen=True)
class RecordedRun:
    """A run to compare: its rows, and where they come from.

    Attributes
    ----------
    path
        Path of the folder or the file.
    tasks
        One row per task, with the columns of `schema.RESULTS`; costs and bounds without documents
        are missing.
    repeats
        The same for every run of each task: a baseline may hold several.
    unsupported
        One row per cost or bound that is missing for this reason, from `verified_results`.
    environments
        Records of machine and software by hash.
    reference_seconds
        What the reference task took during the run, see `stored.run_records`.
    """

    path: Path
    tasks: pd.DataFrame
    repeats: pd.DataFrame
    unsupported: pd.DataFrame
    environments: Mapping[str, Mapping[str, Any]]
    reference_seconds: tuple[float, ...]

    @property
    def label(self) -> RunLabel:
        """A label that tells this run from others."""
        return run_label(self.tasks, self.environments)


def read_run(path: Path, on_check: Callable[[Checks], None] = ignore) -> RecordedRun:
    """Read a run from its folder, whose best documents are checked, or a baseline's file."""
    check_run(path)
    if path.is_file():
        return read_baseline(path)
    store = ResultStore.open(path)
    supported = verified_results(store, with_traces=False, on_check=on_check)
    return RecordedRun(
        path,
        supported.results,
        supported.results,
        supported.unsupported,
        read_environments(store),
        reference_seconds(store),
    )


def check_run(path: Path) -> None:
    """Check quickly that a path has the form of a run; `read_run` reads and checks all of it."""
    if not path.exists():
        raise StoreError(
            f"{path} does not exist; expected a results folder, or a file that "
            "`boundmark baseline` wrote."
        )
    if not path.is_file():
        ResultStore.open(path)


def keep_as_baseline(runs: Sequence[RecordedRun], path: Path) -> None:
    """Write a baseline for later comparisons: the rows of the newest version of each method.

    A folder in which a run went on after a method had changed has rows of both versions.
    """
    for run in runs:
        if run.tasks.empty:
            raise StoreError(f"{run.path} holds no results; expected at least one finished task.")
        if len(run.unsupported):
            first = run.unsupported.iloc[0]
            raise StoreError(
                f"{run.path} has {len(run.unsupported)} costs or bounds without documents that "
                f"hold, the first of task {first['task_id']} ({first['reason']}); expected a "
                "folder that `boundmark verify` accepts."
            )
    make_folder(path.parent)
    # One run that is named twice was not repeated.
    rows = pd.concat([run.repeats for run in runs]).drop_duplicates(["task_id", "started_at"])
    newest = rows.groupby("method")["method_version"].transform("max")
    rows = rows[rows["method_version"] == newest]
    used = set(rows["environment_sha256"].dropna())
    environments = {digest: record for run in runs for digest, record in run.environments.items()}
    kept = {digest: record for digest, record in environments.items() if digest in used}
    write_baseline(path, rows, kept, [second for run in runs for second in run.reference_seconds])


ENVIRONMENTS_KEY = b"boundmark_environments"
REFERENCE_KEY = b"boundmark_reference_seconds"

# Columns that explain one run and are not compared.
LEFT_OUT = ("stderr_tail", "status_detail", "verify_seconds", "peak_rss_bytes")


def write_baseline(
    path: Path,
    rows: pd.DataFrame,
    environments: Mapping[str, Mapping[str, Any]],
    reference_seconds: Sequence[float],
) -> None:
    """Write a baseline, the same bytes for the same run."""
    kept = rows.assign(**dict.fromkeys(LEFT_OUT)).sort_values(["task_id", "started_at"])
    metadata = {
        VERSION_KEY: VERSION.encode(),
        ENVIRONMENTS_KEY: json.dumps(environments, sort_keys=True).encode(),
        REFERENCE_KEY: json.dumps(list(reference_seconds)).encode(),
    }
    table = pa.Table.from_pandas(kept, RESULTS, preserve_index=False)
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
    write_durably(path, sink.getvalue())


def read_baseline(path: Path) -> RecordedRun:
    """Read a baseline."""
    with open_shard(path, "boundmark baseline") as file:
        metadata = file.schema_arrow.metadata or {}
        try:
            table = file.read(use_threads=False).select(RESULTS.names)
            environments = json.loads(metadata[ENVIRONMENTS_KEY])
            reference = tuple(float(value) for value in json.loads(metadata[REFERENCE_KEY]))
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise StoreError(
                f"{path} is no baseline; expected a file that `boundmark baseline` wrote."
            ) from error
    nothing = pd.DataFrame(columns=COLUMNS)
    rows = as_frame(table)
    return RecordedRun(path, latest_rows(table), rows, nothing, environments, reference)
