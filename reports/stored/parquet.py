"""Read untrusted Parquet files within a known memory, and write a report's own.

A few kilobytes of Parquet can stand for any amount of memory: pages are compressed, and a long text
that a million rows share is stored once. So the size that a file states is looked at first, texts
are read as the distinct ones that the file has, and only then given to every row.
"""

import errno
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from boundmark.problems.files import RefusedFileError, open_regular

# Metadata that marks the files of reports.
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
    """Whether `parquet_bytes` made a file's content."""
    try:
        with open_table(path) as file:
            found = file.schema_arrow.metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return found.items() >= MADE_BY.items()


# Of a table: 100,000 tasks take a tenth of it.
LARGEST_TABLE = 2**31


def open_table(path: Path) -> pq.ParquetFile:
    """Open a Parquet file if it is a regular file with a table that is small enough.

    Raises
    ------
    OSError, pyarrow.ArrowException, UnicodeDecodeError
        If it cannot be read or is no such file.
    """
    os.close(open_regular(path))
    # Mapped: twice as fast for files of one row.
    return _open(partial(pq.ParquetFile, path, memory_map=True, pre_buffer=False))


def read_opened(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table of an open file, or some columns of it.

    Raises
    ------
    OSError, pyarrow.ArrowException
        If it cannot be read, or takes too much memory.
    """
    table = file.read(columns=columns, use_threads=False)
    dictionaries = [
        (at, field) for at, field in enumerate(table.schema) if pa.types.is_dictionary(field.type)
    ]
    texts = sum(_text_bytes(table.column(at)) for at, _ in dictionaries)
    # The size of all buffers: a table's `nbytes` takes longer than to read a file of one row.
    if table.get_total_buffer_size() + texts > LARGEST_TABLE:
        raise _too_large()
    for at, field in dictionaries:
        plain = field.with_type(field.type.value_type)
        table = table.set_column(at, plain, table.column(at).cast(plain.type))
    return table


def read_table(path: Path) -> pa.Table:
    """Return the table of a Parquet file.

    Raises
    ------
    OSError, pyarrow.ArrowException, UnicodeDecodeError
        As `open_table` and `read_opened` do.
    """
    with open_table(path) as file:
        return read_opened(file)


def table_of(content: bytes) -> pa.Table:
    """Return the table of a Parquet file's content.

    Raises
    ------
    OSError, pyarrow.ArrowException, UnicodeDecodeError
        As `read_table` does.
    """
    with _open(lambda **more: pq.ParquetFile(pa.BufferReader(content), **more)) as file:
        return read_opened(file)


def _open(opened: Callable[..., pq.ParquetFile]) -> pq.ParquetFile:
    """Open a file, with texts as dictionaries, if its table is small enough."""
    file = opened()
    try:
        _refuse_large(file.metadata)
        if file.metadata.num_rows <= 1:
            return file
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    except BaseException:
        file.close()
        raise
    file.close()
    return opened(read_dictionary=texts)


def _refuse_large(metadata: pq.FileMetaData) -> None:
    """Raise if the size that a file states for its table is too large."""
    groups = (metadata.row_group(at) for at in range(metadata.num_row_groups))
    stated = sum(max(0, group.total_byte_size) for group in groups)
    if max(stated, 8 * metadata.num_rows * metadata.num_columns) > LARGEST_TABLE:
        raise _too_large()


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Return how many bytes the texts of a dictionary column take once every row has its own."""
    return sum(
        pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() or 0
        for part in column.chunks
    )


def _too_large() -> RefusedFileError:
    reason = f"its table takes more than {LARGEST_TABLE >> 20} MiB of memory"
    return RefusedFileError(errno.EFBIG, reason)
