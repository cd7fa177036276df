"""Parquet files are read as they were written."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boundmark.reports.stored.parquet import read_table


@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_a_table_is_what_was_written(tmp_path: Path, rows: int) -> None:
    """Types, missing values and metadata included."""
    table = pa.table(
        {
            "text": pa.array([["one", None, "zwei"][at % 3] for at in range(rows)], pa.string()),
            "number": pa.array(range(rows), pa.int64()),
            "none": pa.array([None] * rows, pa.string()),
        }
    ).replace_schema_metadata({"who": "me"})
    path = tmp_path / "table.parquet"
    pq.write_table(table, path, row_group_size=1000)
    found = read_table(path)
    assert found.equals(table)
    assert found.schema.equals(table.schema, check_metadata=True)
