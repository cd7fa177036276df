"""Data frames as Parquet bytes, the same for the same content."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.reports.stored.limited_tables import open_table

# What tells a report's files from anybody else's.
MADE_BY = {b"made_by": b"boundmark report"}


def parquet_bytes(content: pd.DataFrame | pa.Table) -> Any:
    """Return a frame, without its index, or a table as a buffer in Parquet's format."""
    if isinstance(content, pd.DataFrame):
        table = pa.Table.from_pandas(content, preserve_index=False)
    else:
        table = content
    metadata = {**(table.schema.metadata or {}), **MADE_BY}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink)
    return sink.getvalue()


def is_made_by_reports(path: Path) -> bool:
    """Whether a file holds what `parquet_bytes` returned."""
    try:
        with open_table(path) as file:
            found = file.schema_arrow.metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return found.items() >= MADE_BY.items()
