"""Data frames as Parquet bytes, the same for the same content."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

# What tells a report's files from anybody else's.
MADE_BY = {b"made_by": b"boundmark report"}


def parquet_bytes(frame: pd.DataFrame) -> Any:
    """Return the frame as a buffer in Parquet's format, without its index."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **MADE_BY}), sink)
    return sink.getvalue()


def is_made_by_reports(path: Path) -> bool:
    """Whether a file holds what `parquet_bytes` returned."""
    try:
        found = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return found.items() >= MADE_BY.items()
