"""A results folder: one file a finished task, merged into one when the run is over."""

import datetime as dt
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from boundmark.problems.errors import StoreError
from boundmark.reports.durable import PARTIAL_SUFFIX, sync_directory, write_durably
from boundmark.reports.schema import RESULTS, TRACES, VERSION, VERSION_KEY
from boundmark.reports.statuses import STATUSES, TRACE_KINDS

# The merged file. Every other Parquet file is a shard, named after its task.
MERGED = "merged.parquet"


class ResultStore:
    """Results and traces of a run, safe against a crash at any moment.

    One process writes; its threads may share the store. Any number of processes may read.

    Parameters
    ----------
    directory
        The results folder; see `open` and `create_or_open`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: Path) -> "ResultStore":
        """Return the store of an existing folder, which is not changed.

        Raises
        ------
        StoreError
            If the folder holds no results, or results of another schema version.
        """
        if not (directory / "results").is_dir():
            raise StoreError(
                f"{directory} is not a results folder; expected one that `boundmark run` wrote."
            )
        store = cls(directory)
        for folder in (store._results, store._traces):
            for path in _parquet_files(folder):
                with _open(path):
                    pass
        return store

    @classmethod
    def create_or_open(cls, directory: Path) -> "ResultStore":
        """Return the store of a folder, which is created if need be.

        Raises
        ------
        StoreError
            If the folder cannot be written, or holds results of another schema version.
        """
        store = cls(directory)
        folders = (
            store._results,
            store._traces,
            store.instances,
            store.certificates,
            store.solutions,
        )
        try:
            for folder in folders:
                folder.mkdir(parents=True, exist_ok=True)
            for folder in (*folders, directory):
                sync_directory(folder)
        except OSError as error:
            raise StoreError(
                f"{directory} cannot be used as a results folder: {error.strerror}."
            ) from error
        return cls.open(directory)

    @property
    def instances(self) -> Path:
        """Folder of the instances, by hash."""
        return self.directory / "instances"

    @property
    def certificates(self) -> Path:
        """Folder of the certificates, by hash."""
        return self.directory / "certificates"

    @property
    def solutions(self) -> Path:
        """Folder of the solutions, by hash."""
        return self.directory / "solutions"

    @property
    def environment(self) -> Path:
        """File that describes machine and software."""
        return self.directory / "environment.json"

    @property
    def _results(self) -> Path:
        return self.directory / "results"

    @property
    def _traces(self) -> Path:
        return self.directory / "traces"

    def append(self, row: dict[str, Any], trace: Sequence[Mapping[str, Any]]) -> None:
        """Store a finished task; a task that is already there is replaced.

        Parameters
        ----------
        row
            Values by column of `schema.RESULTS`; columns left out are null. `started_at` is a
            time with its zone, or its ISO 8601 text.
        trace
            What the task reported, in order: mappings with the columns of `schema.TRACES`, where
            `task_id` may be left out.

        Raises
        ------
        StoreError
            If a column is unknown, a value does not fit its column, or the disk refuses.
        """
        task_id = row.get("task_id")
        events = [{"task_id": task_id, **event} for event in trace]
        for event in events:
            if event.get("kind") not in TRACE_KINDS:
                raise StoreError(
                    f"kind of a trace event of task {task_id!r} is {event.get('kind')!r}; "
                    f"expected one of {', '.join(TRACE_KINDS)}."
                )
        if row.get("status") not in STATUSES:
            raise StoreError(
                f"status of task {task_id!r} is {row.get('status')!r}; "
                f"expected one of {', '.join(STATUSES)}."
            )
        result_content = _shard(_table([row | {"started_at": _time(row)}], RESULTS))
        trace_content = _shard(_table(events, TRACES))
        with self._lock:
            # The trace first: a task counts as finished once its row is there. An empty trace is
            # stored too, since it replaces that of an earlier attempt.
            write_durably(self._traces / f"{task_id}.parquet", trace_content)
            write_durably(self._results / f"{task_id}.parquet", result_content)

    def results(self) -> pd.DataFrame:
        """Return one row a task, sorted by task, with the columns of `schema.RESULTS`.

        Raises
        ------
        StoreError
            If a file cannot be read, or has another schema version.
        """
        return _latest(_read(self._results, RESULTS))

    def traces(self) -> pd.DataFrame:
        """Return all tasks' events with the columns of `schema.TRACES`.

        Raises
        ------
        StoreError
            If a file cannot be read, or has another schema version.
        """
        return _frame(_read(self._traces, TRACES))

    def finished(self) -> dict[str, str]:
        """Return the status of every stored task, by task.

        Raises
        ------
        StoreError
            If a file cannot be read, or has another schema version.
        """
        latest = _latest(_read(self._results, RESULTS, ["task_id", "status", "started_at"]))
        return dict(zip(latest["task_id"], latest["status"], strict=True))

    def compact(self) -> None:
        """Merge all files of a kind into one; a crash on the way loses nothing.

        Raises
        ------
        StoreError
            If a file cannot be read or written.
        """
        with self._lock:
            for folder, schema in ((self._traces, TRACES), (self._results, RESULTS)):
                shards = [path for path in _parquet_files(folder) if path.name != MERGED]
                if not shards:
                    continue
                sink = pa.BufferOutputStream()
                pq.write_table(_read(folder, schema), sink)
                # From here on, the shards say nothing that the merged file does not.
                write_durably(folder / MERGED, sink.getvalue())
                try:
                    for path in (*shards, *folder.glob(f".*{PARTIAL_SUFFIX}")):
                        path.unlink(missing_ok=True)
                    sync_directory(folder)
                except OSError as error:
                    raise StoreError(f"{folder} cannot be tidied: {error.strerror}.") from error


def _parquet_files(folder: Path) -> list[Path]:
    """Return the merged file, then the shards by name; files that are not ours are left out."""
    paths = [
        path
        for path in folder.glob("*.parquet")
        if not path.name.startswith(".") and path.is_file()
    ]
    return sorted(paths, key=lambda path: (path.name != MERGED, path.name))


def _open(path: Path) -> pq.ParquetFile:
    try:
        # Mapped and not read ahead: twice as fast for files of one row.
        file = pq.ParquetFile(path, memory_map=True, pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"{path} cannot be read as Parquet; expected a file that `boundmark run` wrote."
        ) from error
    found = (file.schema_arrow.metadata or {}).get(VERSION_KEY)
    if found != VERSION.encode():
        file.close()
        version = "no schema version" if found is None else f"schema version {found.decode()}"
        raise StoreError(f"{path} has {version}; expected version {VERSION}.")
    return file


def _read(folder: Path, schema: pa.Schema, columns: Iterable[str] | None = None) -> pa.Table:
    """Return the rows of all files; a shard replaces its task's rows in the merged file."""
    wanted = list(columns) if columns is not None else schema.names
    tables = []
    files = _parquet_files(folder)
    replaced = pa.array([path.stem for path in files if path.name != MERGED], pa.string())
    for path in files:
        with _open(path) as file:
            try:
                table = file.read(columns=wanted, use_threads=False).select(wanted)
            except (OSError, KeyError, pa.ArrowException) as error:
                raise StoreError(
                    f"{path} lacks columns; expected those of schema version {VERSION}."
                ) from error
        if path.name == MERGED:
            table = table.filter(pc.invert(pc.is_in(table["task_id"], value_set=replaced)))
        tables.append(table)
    target = pa.schema([schema.field(name) for name in wanted], metadata=schema.metadata)
    if not tables:
        return target.empty_table()
    return pa.concat_tables(tables).combine_chunks()


def _latest(table: pa.Table) -> pd.DataFrame:
    """Return one row a task: the latest, in case files were copied together by hand."""
    frame = _frame(table).sort_values(["task_id", "started_at"], kind="stable")
    return frame.drop_duplicates("task_id", keep="last").reset_index(drop=True)


def _frame(table: pa.Table) -> pd.DataFrame:
    # Nullable integers: costs of up to 2^53 ticks stay what they are where values are missing.
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame


def _time(row: Mapping[str, Any]) -> dt.datetime:
    value = row.get("started_at")
    try:
        time = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(time, dt.datetime) and time.tzinfo is not None:
            return time
    except ValueError:
        pass
    raise StoreError(f"started_at is {value!r}; expected a time with its zone.")


def _table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    names = set(schema.names)
    for row in rows:
        for name in row:
            if name not in names:
                raise StoreError(f"{name!r} is no column of schema version {VERSION}.")
    arrays = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
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
