"""A results folder: one file per finished task, merged into one when the run is over."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.problems.files import read_regular
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.reports.stored.durable import (
    FILES_AT_A_TIME,
    remove_partial_files,
    sync_directory,
    write_durably,
)
from boundmark.reports.stored.parquet import (
    MERGED,
    as_frame,
    latest_rows,
    open_shard,
    parquet_files,
    read_rows,
    result_shard,
    trace_shard,
)
from boundmark.reports.stored.schema import RESULTS, TRACES


class ResultStore:
    """Results and traces of a run, safe against a crash at any moment.

    One process writes; several of its threads may append different tasks at a time, but `compact`
    needs to be alone. Any number of processes may read.

    Parameters
    ----------
    directory
        The results folder; see `open` and `create_or_open`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def open(cls, directory: Path) -> "ResultStore":
        """Return the store of an existing folder, which is not changed."""
        if not directory.exists():
            raise StoreError(f"{directory} does not exist; expected a results folder.")
        if not (directory / "results").is_dir():
            raise StoreError(
                f"{directory} is not a results folder; expected one that `boundmark run` wrote."
            )
        store = cls(directory)
        for folder in (store._results, store._traces):
            for path in parquet_files(folder):
                with open_shard(path):
                    pass
        return store

    @classmethod
    def create_or_open(cls, directory: Path) -> "ResultStore":
        """Return the store of a folder, which is created if need be."""
        store = cls(directory)
        try:
            for folder in store._folders:
                folder.mkdir(parents=True, exist_ok=True)
            for folder in (*store._folders, directory):
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
    def labels(self) -> Path:
        """Folder of the names of instances and their nodes, by the instance's hash."""
        return self.directory / "labels"

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

    @property
    def environments(self) -> Path:
        """Folder of the descriptions of machine and software, by hash."""
        return self.directory / "environments"

    @property
    def machine(self) -> Path:
        """Folder of how fast the machine was during runs; see `stored.run_records`."""
        return self.directory / "machine"

    @property
    def _folders(self) -> tuple[Path, ...]:
        """Those that only the writer of rows writes into."""
        documents = self.instances, self.certificates, self.solutions
        return self._results, self._traces, *documents, self.environments, self.labels

    def remove_partial_files(self) -> None:
        """Delete the partial files of interrupted runs and reports; only for the writer of rows."""
        for folder in self._folders:
            remove_partial_files(folder, of_living=True)
        # A report may be written at the same time.
        for folder in (self.directory, *self.directory.iterdir()):
            if folder not in self._folders:
                remove_partial_files(folder, of_living=False)

    def append(self, row: dict[str, Any], trace: Sequence[Mapping[str, Any]]) -> None:
        """Store a finished task; a task that is already there is replaced."""
        task_id = row.get("task_id")
        trace_content = trace_shard(task_id, trace)
        result_content = result_shard(row)
        # The trace first: a task counts as finished once its row is there. An empty trace is stored
        # too, since it replaces that of an earlier attempt.
        write_durably(self._traces / f"{task_id}.parquet", trace_content)
        write_durably(self._results / f"{task_id}.parquet", result_content)

    def put(self, rows: pd.DataFrame, traces: pd.DataFrame) -> None:
        """Store the rows and traces of many tasks at once, in place of all that are there."""
        for folder, schema, frame in (
            (self._traces, TRACES, traces),
            (self._results, RESULTS, rows),
        ):
            sink = pa.BufferOutputStream()
            pq.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False), sink)
            write_durably(folder / MERGED, sink.getvalue())

    def results(self) -> pd.DataFrame:
        """Return one row per task, sorted by task, with the columns of `schema.RESULTS`."""
        return latest_rows(read_rows(self._results, RESULTS))

    def traces(self) -> pd.DataFrame:
        """Return all tasks' events with the columns of `schema.TRACES`."""
        return as_frame(read_rows(self._traces, TRACES))

    def finished(self) -> dict[str, str]:
        """Return the status of every stored task, by task."""
        columns = ["task_id", "status", "started_at"]
        latest = latest_rows(read_rows(self._results, RESULTS, columns))
        return dict(zip(latest["task_id"], latest["status"], strict=True))

    def compact(self) -> None:
        """Merge all files of a kind into one; a crash on the way loses nothing."""
        for folder, schema in ((self._traces, TRACES), (self._results, RESULTS)):
            shards = [path for path in parquet_files(folder) if path.name != MERGED]
            if not shards:
                continue
            sink = pa.BufferOutputStream()
            pq.write_table(read_rows(folder, schema), sink)
            # From here on, the merged file has all that the shards have.
            write_durably(folder / MERGED, sink.getvalue())
            try:
                with ThreadPoolExecutor(FILES_AT_A_TIME) as pool:
                    list(pool.map(partial(Path.unlink, missing_ok=True), shards))
                sync_directory(folder)
            except OSError as error:
                raise StoreError(f"{folder} cannot be tidied: {error.strerror}.") from error


# Above this many characters, a payload goes compressed into a file of its own.
LARGEST_INLINE_PAYLOAD = 64 * 1024


def read_document(directory: Path, digest: str) -> dict[str, Any] | None:
    """Return a stored JSON document without large payload, None if it is not there."""
    path = directory / f"{digest}.json"
    try:
        document = read_json(path)
    except FileNotFoundError:
        return None
    if not isinstance(document, dict) or sha256_hex(canonical_json(document)) != digest:
        raise StoreError(f"{path} was changed; expected the content with the hash that names it.")
    return document


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file of a results folder."""
    try:
        return json.loads(read_regular(path).decode())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read as JSON: {error}.") from error


def write_document(directory: Path, document: Mapping[str, Any]) -> str:
    """Store a JSON document and return its hash, which is the file's name.

    A large ``payload`` is stored as ``<hash of the payload>.json.gz`` beside it, and the document
    then has ``payload_file`` and ``payload_sha256`` instead. A file that is there already is left
    alone: its name says that its content is the same.
    """
    stored = dict(document)
    if "payload" in stored:
        payload = canonical_json(stored["payload"])
        if len(payload) > LARGEST_INLINE_PAYLOAD:
            digest = sha256_hex(payload)
            path = directory / f"{digest}.json.gz"
            if not path.exists():
                # No time stamp: the same payload gives the same file.
                write_durably(path, gzip.compress(payload.encode(), mtime=0))
            del stored["payload"]
            stored |= {"payload_file": path.name, "payload_sha256": digest}
    text = canonical_json(stored)
    digest = sha256_hex(text)
    path = directory / f"{digest}.json"
    if not path.exists():
        write_durably(path, text.encode())
    return digest


T = TypeVar("T")
U = TypeVar("U")


def read_parsed(folder: Path, digest: Any, parse: Callable[[Any], T]) -> T | None:
    """Return a stored document, parsed; None if it is missing."""
    document = read_document(folder, digest) if isinstance(digest, str) else None
    try:
        return None if document is None else parse(document)
    except BoundmarkError as error:
        raise StoreError(f"{folder / f'{digest}.json'}: {error}") from error


def parsed_pair(
    store: "ResultStore",
    row: Any,
    parse_instance: Callable[[Any], T],
    parse_solution: Callable[[Any], U],
) -> tuple[T, U] | None:
    """Return a row's instance and solution as objects, None if one of them is not stored."""
    instance = read_parsed(store.instances, row.instance_sha256, parse_instance)
    solution = read_parsed(store.solutions, row.solution_sha256, parse_solution)
    return None if instance is None or solution is None else (instance, solution)
