"""The Parquet files of a results folder: one shard per task, merged into one file at the end."""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.problems.regular_file import RefusedFileError
from boundmark.reports.stored.limited_tables import open_table, read_opened
from boundmark.reports.stored.schema import VERSION, VERSION_KEY

# The merged file. Every other Parquet file is a shard, named after its task.
MERGED = "merged.parquet"

# The years 1 to 9999 in microseconds: files can hold times for which there is no date.
EARLIEST, LATEST = (
    (time.replace(tzinfo=dt.UTC) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC))
    // dt.timedelta(microseconds=1)
    for time in (dt.datetime.min, dt.datetime.max)
)


def parquet_files(folder: Path) -> list[Path]:
    """Return the merged file, then the shards by name; files that are not ours are left out."""
    # Pipes and devices are not ours either, but to leave them out would be to hide them.
    paths = [
        path
        for path in folder.glob("*.parquet")
        if not path.name.startswith(".") and path.exists() and not path.is_dir()
    ]
    return sorted(paths, key=lambda path: (path.name != MERGED, path.name))


def open_shard(path: Path, writer: str = "boundmark run") -> pq.ParquetFile:
    """Open a file of this schema version.

    Parameters
    ----------
    writer
        The command that writes such files, for who gave another one.

    Raises
    ------
    StoreError
        If it cannot be read, or has another schema version.
    """
    try:
        file = open_table(path)
    except RefusedFileError as error:
        raise StoreError(f"{path} cannot be read: {error}.") from error
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
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
    tables = []
    files = parquet_files(folder)
    replaced = pa.array([path.stem for path in files if path.name != MERGED], pa.string())
    for path in files:
        with open_shard(path) as file:
            try:
                table = read_opened(file, wanted).select(wanted)
            except RefusedFileError as error:
                raise StoreError(f"{path} cannot be read: {error}.") from error
            except (OSError, KeyError, pa.ArrowException) as error:
                raise StoreError(
                    f"{path} lacks columns; expected those of schema version {VERSION}."
                ) from error
        refuse_other_types(path, table, schema)
        if path.name == MERGED:
            table = table.filter(pc.invert(pc.is_in(table["task_id"], value_set=replaced)))
        tables.append(table)
    target = pa.schema([schema.field(name) for name in wanted], metadata=schema.metadata)
    if not tables:
        return target.empty_table()
    return pa.concat_tables(tables).combine_chunks()


def refuse_other_types(path: Path, table: pa.Table, schema: pa.Schema) -> None:
    """Raise if a column is not what a schema says, or has a time for which there is no date.

    Raises
    ------
    StoreError
        With the file and the column.
    """
    for found in table.schema:
        wanted = schema.field(found.name)
        if found.type != wanted.type:
            raise StoreError(
                f"{path}: column {found.name} holds {found.type}; expected {wanted.type}."
            )
        if not wanted.nullable and table[found.name].null_count:
            raise StoreError(f"{path}: column {found.name} lacks values; expected one in each row.")
        if pa.types.is_timestamp(found.type):
            ends = pc.min_max(pc.cast(table[found.name], pa.int64())).as_py()
            if ends["min"] is not None and not EARLIEST <= ends["min"] <= ends["max"] <= LATEST:
                raise StoreError(
                    f"{path}: column {found.name} has a time outside the years 1 to 9999."
                )


def latest_rows(table: pa.Table) -> pd.DataFrame:
    """Return one row per task: the latest, in case files were copied together by hand."""
    frame = as_frame(table)
    # What decides is sorted alone: rows have many more columns.
    names = frame[["task_id", "started_at"]].sort_values(["task_id", "started_at"], kind="stable")
    return frame.loc[names.drop_duplicates("task_id", keep="last").index].reset_index(drop=True)


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a data frame that keeps integers where values are missing."""
    # Nullable integers: costs of up to 2^53 ticks stay what they are.
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame
