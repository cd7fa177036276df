"""A baseline: what is kept of a run to compare later ones with, in one small Parquet file.

Its rows are those of `results/*.parquet`, without what only explains one run. Instances, solutions
and certificates stay behind: a baseline says what they were called, and the run that is compared
with it brings its own.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.limited_tables import read_opened
from boundmark.reports.stored.schema import RESULTS, VERSION, VERSION_KEY
from boundmark.reports.stored.shards import latest_rows, open_shard, refuse_other_types

ENVIRONMENTS_KEY = b"boundmark_environments"
REFERENCE_KEY = b"boundmark_reference_seconds"

# What says how one run went and is compared with nothing.
LEFT_OUT = ("stderr_tail", "status_detail", "verify_seconds", "peak_rss_bytes")


@dataclass(frozen=True)
class Baseline:
    """The contents of a baseline's file.

    Attributes
    ----------
    rows
        One row per task, with the columns of `schema.RESULTS`.
    environments
        Descriptions of machine and software by hash, as far as the run had them.
    reference_seconds
        What the reference task took during the run, see `stored.machine`.
    """

    rows: pd.DataFrame
    environments: Mapping[str, Mapping[str, Any]]
    reference_seconds: tuple[float, ...]


def write_baseline(
    path: Path,
    rows: pd.DataFrame,
    environments: Mapping[str, Mapping[str, Any]],
    reference_seconds: Sequence[float],
) -> None:
    """Write a baseline, the same bytes for the same run.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    kept = rows.assign(**dict.fromkeys(LEFT_OUT)).sort_values("task_id")
    metadata = {
        VERSION_KEY: VERSION.encode(),
        ENVIRONMENTS_KEY: json.dumps(environments, sort_keys=True).encode(),
        REFERENCE_KEY: json.dumps(list(reference_seconds)).encode(),
    }
    table = pa.Table.from_pandas(kept, RESULTS, preserve_index=False)
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
    write_durably(path, sink.getvalue())


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises
    ------
    StoreError
        If it cannot be read, or is of another schema version.
    """
    with open_shard(path, "boundmark baseline") as file:
        metadata = file.schema_arrow.metadata or {}
        try:
            table = read_opened(file, RESULTS.names).select(RESULTS.names)
            environments = json.loads(metadata[ENVIRONMENTS_KEY])
            reference = tuple(float(value) for value in json.loads(metadata[REFERENCE_KEY]))
            if not _are_records(environments) or not all(0 < one < math.inf for one in reference):
                raise ValueError
        except (
            OSError,
            KeyError,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
            pa.ArrowException,
        ) as error:
            raise StoreError(
                f"{path} is no baseline; expected a file that `boundmark baseline` wrote."
            ) from error
    refuse_other_types(path, table, RESULTS)
    try:
        return Baseline(latest_rows(table), environments, reference)
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} has a text that is not UTF-8; expected texts that are.") from (
            error
        )


def _are_records(environments: Any) -> bool:
    return isinstance(environments, dict) and all(
        isinstance(record, dict) for record in environments.values()
    )
