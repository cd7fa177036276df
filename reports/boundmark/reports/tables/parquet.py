"""Data frames as Parquet bytes, the same for the same content."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def parquet_bytes(frame: pd.DataFrame) -> Any:
    """Return the frame as a buffer in Parquet's format, without its index."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), sink)
    return sink.getvalue()
