"""Remember in the user's cache folder which documents were unchanged, and which were accepted.

To read and hash a hundred thousand small files takes longer than everything else that is done with
a folder. The system keeps for each file a number, a size, the time of its last modification, and
the time of its last change of any kind, which no program can set. Where all four are as they were
when the content was hashed, the content is what it was. A copied or restored folder has other
numbers and times, so all of it is read again.

What the checker accepted is remembered by the hash of an instance's and a document's hash, in one
file for each version of the checker. No results folder can bring its own entries, and all may be
deleted at any time.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from boundmark.bounds import checker
from boundmark.problems.errors import StoreError
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.parquet import as_frame, read_table
from boundmark.reports.tables.rows import places_in, values_of

# Bytes of an entry.
LENGTH = hashlib.sha256().digest_size

# Versions of the checker whose entries are kept, those that were used last.
MOST_VERSIONS = 3


class Accepted:
    """The pairs of instance and document that this version of the checker is known to accept.

    Parameters
    ----------
    most_entries
        Entries that are kept, those that were added last: 500,000 take 16 MB.
    """

    def __init__(self, most_entries: int = 500_000) -> None:
        self._most_entries = most_entries
        self._path = cache_folder("accepted") / checker_version()
        self._known = _read_entries(self._path)
        self._added: dict[bytes, None] = {}

    def has(self, instance: str, document: str) -> bool:
        """Return whether a document was accepted for an instance, both named by their hash."""
        return _entry(instance, document) in self._known

    def add(self, instance: str, document: str) -> None:
        """Add a document that the checker has accepted."""
        self._added[_entry(instance, document)] = None

    def save(self) -> None:
        """Write the added entries; those that cannot be written are checked again next time."""
        if not self._added:
            return
        # Another process may have added to them meanwhile.
        entries = [*(_read_entries(self._path) | self._added)][-self._most_entries :]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_durably(self._path, b"".join(entries))
            others = sorted(self._path.parent.iterdir(), key=lambda one: one.stat().st_mtime)
            for old in others[:-MOST_VERSIONS]:
                old.unlink(missing_ok=True)
        except (OSError, StoreError):
            return


def checker_version() -> str:
    """Return a hash of the checker's sources and of Python's version, on which verdicts depend."""
    root = Path(checker.__file__).parent
    found = hashlib.sha256(sys.version.encode())
    for path in sorted(root.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"\n{path.relative_to(root).as_posix()} {content}".encode())
    return found.hexdigest()


def _entry(instance: str, document: str) -> bytes:
    return hashlib.sha256(f"{instance} {document}".encode()).digest()


def _read_entries(path: Path) -> dict[bytes, None]:
    """Return the entries of a file in order; none if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    if len(content) % LENGTH:
        return {}
    starts: Iterable[int] = range(0, len(content), LENGTH)
    return {content[start : start + LENGTH]: None for start in starts}


def cache_folder(name: str) -> Path:
    """Return a folder of this package below the user's cache folder; it need not exist.

    Nobody can send what lies there along with results. A relative ``XDG_CACHE_HOME`` is passed
    over, as its specification demands: in a results folder, it could lead into that folder.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    cache = chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache")
    return Path(cache, "boundmark", name)


VERSION = b"1"
VERSION_KEY = b"boundmark_checked_files"

# Columns of a file's state, in the order of `file_state`; times in nanoseconds.
STATE = ("inode", "size", "modified", "changed")

# `name` is the path below the results folder. The others are what a document says: the instance
# that it is about, the cost or bound that it states, and the hash of a large payload beside it.
COLUMNS = pa.schema(
    [
        ("name", pa.string()),
        *((name, pa.int64()) for name in STATE),
        ("instance", pa.string()),
        ("value", pa.int64()),
        ("payload", pa.string()),
    ],
    metadata={VERSION_KEY: VERSION},
)

FileState = tuple[int, int, int, int]

NO_FILE: FileState = (-1, -1, -1, -1)


def file_state(status: os.stat_result) -> FileState:
    """Return inode, size, mtime and ctime."""
    # File systems may use all 64 bits for numbers; columns have 63 and a sign.
    inode = status.st_ino & (2**63 - 1)
    return inode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@dataclass(frozen=True)
class CacheLimits:
    """Settings of which files are remembered as unchanged.

    Attributes
    ----------
    least_files
        Files from which on a folder is remembered: fewer are read in no time.
    settled_nanoseconds
        Time that has to lie between a file's last change and its reading: one that changed just
        before may change again within the same tick of the file system's clock.
    """

    least_files: int = 1000
    settled_nanoseconds: int = 2 * 10**9


USUAL = CacheLimits()


class FileCache:
    """The files of one results folder that are known to be unchanged.

    Parameters
    ----------
    directory
        The results folder.
    known
        What is remembered of it, with the columns of `COLUMNS`.
    settled_nanoseconds
        As in `CacheLimits`.
    """

    def __init__(self, directory: Path, known: pd.DataFrame, settled_nanoseconds: int) -> None:
        self._directory = str(directory)
        self._settled_nanoseconds = settled_nanoseconds
        self._known = known
        self._states = known[list(STATE)].to_numpy(np.int64)
        self._asked = np.zeros(len(known), np.bool_)
        self._same = np.zeros(len(known), np.bool_)
        self._now = time.time_ns()
        self._read: list[tuple[Any, ...]] = []

    def are_unchanged(self, names: "pd.Series[str]") -> npt.NDArray[np.bool_]:
        """Return which files are there and as they were when they were remembered."""
        return self._places(names) >= 0

    def support(
        self, folder: str, digests: "pd.Series[str]", instances: "pd.Series[str]", values: Any
    ) -> npt.NDArray[np.bool_]:
        """Return which documents are known to be unchanged and about an instance, with a value."""
        places = self._places(folder + "/" + digests + ".json")
        found = np.flatnonzero(places >= 0)
        facts = self._known[["instance", "value", "payload"]].iloc[places[found]]
        right = (facts["instance"].array == instances.array[found]) & (
            facts["value"].array == values.array[found]
        )
        payloads = facts["payload"]
        has_all = payloads.isna().to_numpy()
        if not has_all.all():
            has_all = has_all | self.are_unchanged(folder + "/" + payloads + ".json.gz")
        are_known = np.zeros(len(places), np.bool_)
        are_known[found] = pd.array(right, dtype="boolean").to_numpy(np.bool_, na_value=False)
        are_known[found] &= has_all
        return are_known

    def remember(
        self,
        name: str,
        state: FileState,
        instance: Any = None,
        value: Any = None,
        payload: Any = None,
    ) -> None:
        """Remember a file that was read and has the hash that names it.

        Parameters
        ----------
        state
            As it was before the file was read.
        """
        are_storable = (
            isinstance(instance, str | None)
            and (value is None or (type(value) is int and abs(value) < 2**63))
            and isinstance(payload, str | None)
        )
        if are_storable and state[-1] < self._now - self._settled_nanoseconds:
            self._read.append((name, *state, instance, value, payload))

    def memory(self) -> pd.DataFrame | None:
        """Return the files to remember; None if nothing changed."""
        # What was not asked for is of rows that are gone.
        kept = self._known[self._same]
        if len(kept) == len(self._known) and not self._read:
            return None
        if not self._read:
            return kept
        columns = zip(*{row[0]: row for row in self._read}.values(), strict=True)
        arrays = [pa.array(x, field.type) for x, field in zip(columns, COLUMNS, strict=True)]
        return pd.concat([kept, as_frame(pa.Table.from_arrays(arrays, schema=COLUMNS))])

    def _places(self, names: "pd.Series[str]") -> npt.NDArray[np.intp]:
        """Return the place of each file that has not changed since, -1 for others."""
        places = places_in(names, self._known["name"])
        asked = np.unique(places[places >= 0])
        asked = asked[~self._asked[asked]]
        if len(asked):
            paths = values_of(self._known["name"].iloc[asked])
            states = np.array([*self._states_now(paths)], np.int64)
            self._same[asked] = (states == self._states[asked]).all(axis=1)
            self._asked[asked] = True
        are_there = np.flatnonzero(places >= 0)
        places[are_there[~self._same[places[are_there]]]] = -1
        return places

    def _states_now(self, names: Iterable[str]) -> Iterator[FileState]:
        for name in names:
            try:
                yield file_state(os.stat(f"{self._directory}/{name}"))
            except OSError:
                yield NO_FILE


@contextmanager
def checked_files(directory: Path, remembering: CacheLimits = USUAL) -> Iterator[FileCache]:
    """Yield the remembered files of a folder, and store what the block adds to them."""
    path = _path_of(directory)
    files = FileCache(directory, _read(path), remembering.settled_nanoseconds)
    yield files
    memory = files.memory()
    if memory is not None and len(memory) >= remembering.least_files:
        try:
            _write(path, memory)
        except (OSError, StoreError):
            # Then all is read again next time.
            return


def _path_of(directory: Path) -> Path:
    name = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()
    return cache_folder("checked") / f"{name}.parquet"


def _read(path: Path) -> pd.DataFrame:
    try:
        table = read_table(path)
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        table = None
    is_ours = table is not None and table.schema.equals(COLUMNS)
    if not is_ours or table.schema.metadata.get(VERSION_KEY) != VERSION:
        table = COLUMNS.empty_table()
    return as_frame(table)


# Folders that are remembered, those that were written last.
MOST_FOLDERS = 20


def _write(path: Path, memory: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(memory, COLUMNS, preserve_index=False)
    sink = pa.BufferOutputStream()
    options: dict[str, Any] = {"use_dictionary": ["instance"], "compression": "none"}
    pq.write_table(table.replace_schema_metadata(COLUMNS.metadata), sink, **options)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, sink.getvalue())
    others = sorted(path.parent.glob("*.parquet"), key=lambda one: one.stat().st_mtime)
    for old in others[:-MOST_FOLDERS]:
        old.unlink(missing_ok=True)
