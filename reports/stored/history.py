"""The history of runs in one Parquet file: a few numbers of each run, for trends."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.problems.files import RefusedFileError
from boundmark.reports.stored.durable import make_folder, write_durably
from boundmark.reports.stored.parquet import read_table
from boundmark.reports.stored.shards import as_frame

VERSION = b"1"
VERSION_KEY = b"boundmark_history"

# Name of the row with the best solution and the best bound of each instance.
BEST = "best of all"

HISTORY = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("started_at", pa.timestamp("us", tz="UTC"), nullable=False),
        ("commit", pa.string()),
        ("solvers", pa.string()),
        ("suites", pa.string()),
        ("reference_seconds", pa.float64()),
        pa.field("problem", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        ("instances", pa.int64()),
        ("solved", pa.int64()),
        ("mean_gap", pa.float64()),
        ("bounded", pa.int64()),
        ("mean_bound_gap", pa.float64()),
        ("optimal", pa.int64()),
        ("mean_seconds", pa.float64()),
        ("failed", pa.int64()),
    ],
    metadata={VERSION_KEY: VERSION},
)


def read_history(path: Path) -> pd.DataFrame:
    """Return the rows of a history by start; an empty table if the file does not exist.

    Raises
    ------
    StoreError
        If the file is no history, or one of another version.
    """
    if not path.exists():
        return as_frame(HISTORY.empty_table())
    try:
        table = read_table(path)
        # Texts that are not UTF-8 are read without a word.
        table.validate(full=True)
    except RefusedFileError as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise StoreError(
            f"{path} cannot be read as Parquet; expected a history of runs."
        ) from error
    if (table.schema.metadata or {}).get(VERSION_KEY) != VERSION or table.schema != HISTORY:
        raise StoreError(
            f"{path} is no history of version {VERSION.decode()}; expected a file that "
            "`boundmark report --history` wrote. Begin another one."
        )
    return _ordered(as_frame(table))


def add_to_history(path: Path, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Add a run to a history, in place of its earlier rows, and return all rows.

    Raises
    ------
    StoreError
        If the file is no history, or cannot be written.
    """
    known = read_history(path)
    added = as_frame(pa.Table.from_pylist(list(rows), HISTORY))
    whole = _ordered(pd.concat([known[~known["run"].isin(added["run"])], added]))
    table = pa.Table.from_pandas(whole, HISTORY, preserve_index=False)
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(HISTORY.metadata), sink, compression="zstd")
    make_folder(path.parent)
    write_durably(path, sink.getvalue())
    return whole


def start_of(started: str) -> dt.datetime:
    """Return the time that a label's text states."""
    return dt.datetime.fromisoformat(started)


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    by = ["started_at", "run", "problem", "method"]
    return rows.sort_values(by, kind="stable").reset_index(drop=True)
