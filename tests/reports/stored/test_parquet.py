"""Parquet files take no more memory than they may, however small they are."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boundmark.problems.errors import StoreError
from boundmark.problems.files import RefusedFileError
from boundmark.reports.stored.parquet import open_table, read_rows, read_table, table_of
from boundmark.reports.stored.schema import RESULTS, VERSION, VERSION_KEY

LIMIT = "its table takes more than 2048 MiB of memory"


@pytest.mark.parametrize("rows", [0, 1, 3000])
def test_a_table_is_what_was_written(tmp_path: Path, rows: int) -> None:
    """Types, missing values and metadata included, though texts are read as distinct ones."""
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
    assert table_of(path.read_bytes()).equals(table)


def _long_text(path: Path) -> None:
    """Write a text of a megabyte that 10,000 rows share."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), ["x" * 2**20])
    pq.write_table(pa.table({"text": texts}), path, store_schema=False)


def _many_rows(path: Path) -> None:
    """Write as many rows without values as take no room."""
    one = pa.nulls(10**7, pa.int64())
    pq.write_table(pa.table({f"{at}": one for at in range(27)}), path)


def _compressed(path: Path) -> None:
    """Write zeros that compress well."""
    column = pa.array([bytes(2**28)], pa.binary())
    with pq.ParquetWriter(path, pa.schema([("zeros", pa.binary())]), compression="zstd") as file:
        for _ in range(9):
            file.write_table(pa.table([column], ["zeros"]))


@pytest.mark.slow
@pytest.mark.parametrize("write", [_long_text, _many_rows, _compressed])
def test_gigabytes_behind_a_small_file(tmp_path: Path, write: object) -> None:
    """They are refused before they are there."""
    path = tmp_path / "small.parquet"
    assert callable(write)
    write(path)
    assert path.stat().st_size < 2**22
    with pytest.raises(RefusedFileError, match=LIMIT):
        read_table(path)
    with pytest.raises(RefusedFileError, match=LIMIT):
        table_of(path.read_bytes())


def test_a_large_shard_is_named(tmp_path: Path) -> None:
    """A results folder says which of its files is refused."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), ["x" * 2**20])
    columns = {name: texts if name == "task_id" else pa.nulls(10_000) for name in RESULTS.names}
    table = pa.table(columns).replace_schema_metadata({VERSION_KEY: VERSION})
    pq.write_table(table, tmp_path / "task.parquet")
    with pytest.raises(StoreError, match=rf"task\.parquet cannot be read: {LIMIT}"):
        read_rows(tmp_path, RESULTS)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(RefusedFileError, match="it is no regular file"):
        open_table(tmp_path / "pipe.parquet")
    with pytest.raises(StoreError, match=r"pipe\.parquet cannot be read: it is no regular file"):
        read_rows(tmp_path, RESULTS)
