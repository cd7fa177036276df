"""Read the Parquet files of a results folder, and write a report's own."""

import datetime as dt
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.schema import RESULTS, TRACES, VERSION, VERSION_KEY
from boundmark.reports.stored.statuses import STATUSES, TRACE_KINDS

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


def open_table(path: Path) -> pq.ParquetFile:
    """Open a Parquet file."""
    # Mapped: twice as fast for files of one row. By its bytes: a path may be no text.
    return pq.ParquetFile(pa.memory_map(os.fsencode(path)))


def read_table(path: Path) -> pa.Table:
    """Return the table of a Parquet file."""
    with open_table(path) as file:
        return file.read(use_threads=False)


# The merged file. Every other Parquet file is a shard, named after its task.
MERGED = "merged.parquet"


def parquet_files(folder: Path) -> list[Path]:
    """Return the merged file, then the shards by name; files that are not ours are left out."""
    # Pipes and devices are not ours either, but to leave them out would be to hide them.
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.name.endswith(".parquet")
                and not entry.name.startswith(".")
                and not (entry.is_symlink() and not os.path.exists(entry.path))
                and not entry.is_dir()
            ]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        names = []
    return [folder / name for name in sorted(names, key=lambda name: (name != MERGED, name))]


def open_shard(path: Path, writer: str = "boundmark run") -> pq.ParquetFile:
    """Open a file of this schema version."""
    try:
        file = open_table(path)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"{path} cannot be read as Parquet; expected a file that `{writer}` wrote."
        ) from error
    found = (file.schema_arrow.metadata or {}).get(VERSION_KEY)
    if found != VERSION.encode():
        file.close()
        raise StoreError(f"{path} has {_told(found)}; expected version {VERSION}. {_advice(found)}")
    return file


def _told(version: bytes | None) -> str:
    if version is None:
        return "no schema version"
    return f"schema version {version.decode(errors='backslashreplace')}"


def _advice(version: bytes | None) -> str:
    """Return what to do about a file of another version."""
    if version is not None and version.isdigit() and int(version) > int(VERSION):
        return "A newer boundmark wrote it: update this one."
    return "Run the suite again into another folder, or refresh the baseline."


def read_rows(folder: Path, schema: pa.Schema, columns: Iterable[str] | None = None) -> pa.Table:
    """Return the rows of all files; a shard replaces its task's rows in the merged file."""
    wanted = list(columns) if columns is not None else schema.names
    target = pa.schema([schema.field(name) for name in wanted], metadata=schema.metadata)
    tables = []
    files = parquet_files(folder)
    replaced = pa.array([path.stem for path in files if path.name != MERGED], pa.string())
    for path in files:
        with open_shard(path) as file:
            try:
                table = file.read(columns=wanted, use_threads=False).select(wanted)
            except (OSError, KeyError, pa.ArrowException) as error:
                raise StoreError(
                    f"{path} lacks columns; expected those of schema version {VERSION}."
                ) from error
        if path.name == MERGED:
            table = table.filter(pc.invert(pc.is_in(table["task_id"], value_set=replaced)))
        tables.append(table)
    if not tables:
        return target.empty_table()
    return pa.concat_tables(tables).combine_chunks()


def latest_rows(table: pa.Table) -> pd.DataFrame:
    """Return one row per task: the latest, in case files were copied together by hand."""
    frame = as_frame(table)
    # What decides is sorted alone: rows have many more columns.
    names = frame[["task_id", "started_at"]].sort_values(["task_id", "started_at"], kind="stable")
    return frame.loc[names.drop_duplicates("task_id", keep="last").index].reset_index(drop=True)


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a data frame that keeps integers where values are missing."""
    # Nullable integers: as floats, costs above 2^53 ticks would be rounded.
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame


def result_shard(row: Mapping[str, Any]) -> Any:
    """Return a task's row as a file with the columns of `schema.RESULTS`."""
    if row.get("status") not in STATUSES:
        raise StoreError(
            f"status of task {row.get('task_id')!r} is {row.get('status')!r}; "
            f"expected one of {', '.join(STATUSES)}."
        )
    return _shard(_table([{**row, "started_at": _time(row)}], RESULTS))


def trace_shard(task_id: Any, trace: Sequence[Mapping[str, Any]]) -> Any:
    """Return the reports of a task as a file with the columns of `schema.TRACES`."""
    events = [{"task_id": task_id, **event} for event in trace]
    for event in events:
        if event.get("kind") not in TRACE_KINDS:
            raise StoreError(
                f"kind of a trace event of task {task_id!r} is {event.get('kind')!r}; "
                f"expected one of {', '.join(TRACE_KINDS)}."
            )
    return _shard(_table(events, TRACES))


def _time(row: Mapping[str, Any]) -> dt.datetime:
    value = row.get("started_at")
    try:
        time = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(time, dt.datetime) and time.tzinfo is not None:
            return time
    except ValueError:
        pass
    raise StoreError(f"started_at is {value!r}; expected a time with its zone.")


def _in_utf8(value: Any) -> Any:
    """Return a value as files hold it: names of files may have bytes that are no text."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    names = set(schema.names)
    for row in rows:
        for name in row:
            if name not in names:
                raise StoreError(f"{name!r} is no column of schema version {VERSION}.")
    arrays = []
    for field in schema:
        values = [_in_utf8(row.get(field.name)) for row in rows]
        if not field.nullable and None in values:
            raise StoreError(f"column {field.name!r} is missing; expected a {field.type}.")
        try:
            arrays.append(pa.array(values, field.type))
        except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
            raise StoreError(
                f"column {field.name!r} does not take {values!r:.200}; expected {field.type}."
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _shard(table: pa.Table) -> Any:
    # One row: compression, dictionaries and statistics only cost time.
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False, write_statistics=False)
    return sink.getvalue()
