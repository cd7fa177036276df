"""The library as a folder: two files for each instance, and facts about the whole.

`PROBLEM/NAME.json` is the entry: who found what, as text that shows changes line by line.
`PROBLEM/NAME.jsonl.gz` has the documents, a line each and known by their hashes: the instance, the
names of its nodes, the solution, the certificate and its payload.
"""

import datetime as dt
import gzip
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundmark.benchmarks.library.entry import DIGITS, Entry, Find
from boundmark.problems.errors import InvalidInputError, StoreError, quoted
from boundmark.problems.files import decompressed, naming, read_regular
from boundmark.problems.json_documents import json_object, sha256_hex, toml_table
from boundmark.reports.stored.durable import make_folder, write_durably

FORMAT = "boundmark-library/1"

# Where the library is if it is not beside the code; empty for none.
VARIABLE = "BOUNDMARK_LIBRARY"

FACTS = "library.toml"


@dataclass(frozen=True)
class Facts:
    """The contents of `library.toml`.

    Attributes
    ----------
    licence
        Of all that the library holds, as in SPDX.
    most_bytes
        Of all files together.
    most_certificate_bytes
        Of a certificate with its payload, compressed; larger ones are kept as recipes.
    datasets
        Whose instances may be in the library, and why, by name.
    contributors
        The days on which people agreed to the licence, by name.
    """

    licence: str
    most_bytes: int
    most_certificate_bytes: int
    datasets: Mapping[str, str]
    contributors: Mapping[str, dt.date]


class Library:
    """A library of best-known results, in a folder.

    Parameters
    ----------
    directory
        The folder; see `open`.
    """

    def __init__(self, directory: Path, facts: Facts) -> None:
        self.directory, self.facts = directory, facts

    @classmethod
    def open(cls, directory: Path) -> "Library":
        """Return the library in a folder.

        Raises
        ------
        StoreError
            If the folder holds none.
        InvalidInputError
            If its facts are not as expected.
        """
        path = directory / FACTS
        try:
            content = read_regular(path)
        except FileNotFoundError as error:
            raise StoreError(
                f"{directory} is no library; expected a folder that holds {FACTS}, such as "
                "library/ of boundmark's repository."
            ) from error
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
        with naming(path):
            return cls(directory, _facts(toml_table(content)))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.directory.rglob("*") if path.is_file())

    def paths(self) -> list[Path]:
        """Return the files of all entries, by name."""
        return sorted(self.directory.glob("*/*.json"))

    def entries(self) -> Iterator[Entry]:
        """Yield all entries by name.

        Raises
        ------
        InvalidInputError
            If one is damaged.
        """
        return map(self.read, self.paths())

    def read(self, path: Path) -> Entry:
        """Return the entry in a file.

        Raises
        ------
        InvalidInputError
            If the file cannot be read, is damaged, or is not called like its entry.
        """
        with naming(path):
            try:
                content = read_regular(path)
            except OSError as error:
                raise InvalidInputError(f"it cannot be read: {error.strerror}.") from error
            entry = Entry.from_json(json_object(content))
            if path != self.path_of(entry):
                raise InvalidInputError(f"expected it to be called {entry.name}.json.")
            return entry

    def find(self, problem: str, sha256: str) -> Entry | None:
        """Return the entry of an instance; None if there is none."""
        for path in self.directory.glob(f"{problem}/*-{sha256[:DIGITS]}.json"):
            entry = self.read(path)
            if entry.instance_sha256 == sha256:
                return entry
        return None

    def named(self, name: str) -> Entry:
        """Return the entry whose name, as in `list`, or whose instance's hash begins like a text.

        Raises
        ------
        InvalidInputError
            If there is none, or more than one.
        """
        found = [
            entry
            for entry in self.entries()
            if entry.name.startswith(name) or entry.instance_sha256.startswith(name)
        ]
        exact = [entry for entry in found if entry.name == name]
        if len(exact or found) != 1:
            raise InvalidInputError(
                f"{len(found)} entries have names or hashes that begin with {quoted(name)}; "
                "expected one."
            )
        return (exact or found)[0]

    def path_of(self, entry: Entry) -> Path:
        """Return the path of an entry's file."""
        return self.directory / f"{entry.name}.json"

    def documents(self, entry: Entry) -> dict[str, bytes]:
        """Return the documents of an entry by hash, in their canonical form.

        Raises
        ------
        InvalidInputError
            If the file is damaged, or does not hold exactly the documents that the entry names.
        """
        path = self._documents_path(entry)
        with naming(path):
            try:
                return documents_in(read_regular(path), entry)
            except OSError as error:
                raise InvalidInputError(f"it cannot be read: {error.strerror}.") from error

    def size_of(self, entry: Entry) -> int:
        """Bytes of an entry's two files; 0 if there are none."""
        paths = (self.path_of(entry), self._documents_path(entry))
        return sum(path.stat().st_size for path in paths if path.is_file())

    def write(self, entry: Entry, documents: Mapping[str, bytes]) -> None:
        """Write an entry and those of the documents that it names.

        Raises
        ------
        StoreError
            If a file cannot be written.
        """
        path = self.path_of(entry)
        make_folder(path.parent)
        lines = [documents[digest] for digest in dict.fromkeys(entry.documents)]
        write_durably(self._documents_path(entry), packed(lines))
        write_durably(path, entry.to_text().encode())

    def _documents_path(self, entry: Entry) -> Path:
        return self.directory / f"{entry.name}.jsonl.gz"


def documents_in(packed: bytes, entry: Entry) -> dict[str, bytes]:
    """Return the documents in an entry's compressed file by hash.

    Raises
    ------
    InvalidInputError
        If it is damaged, or does not hold exactly the documents that the entry names.
    """
    lines = decompressed(packed).splitlines()
    found = {sha256_hex(line.decode(errors="replace")): line for line in lines}
    if list(found) != list(dict.fromkeys(entry.documents)):
        missing = set(entry.documents) - set(found)
        what = f"document {min(missing)[:DIGITS]} is missing" if missing else "others"
        raise InvalidInputError(
            f"it does not hold the documents that the entry names, in their order: {what}."
        )
    return found


def unpack(entry: Entry, documents: Mapping[str, bytes], out: Path) -> list[Path]:
    """Write an entry's documents as results folders store them, where the checker reads them.

    Raises
    ------
    StoreError
        If a file cannot be written.
    """
    instance = out / "instances" / f"{entry.instance_sha256}.json"
    labels = out / "labels" / f"{entry.instance_sha256}.json"
    files = {instance: documents[entry.instance_sha256]}
    if entry.labels_sha256:
        files[labels] = documents[entry.labels_sha256]
    for path, content in files.items():
        make_folder(path.parent)
        write_durably(path, content)
    found = [*files]
    for find, name in ((entry.solution, "solutions"), (entry.bound, "certificates")):
        if find is not None:
            make_folder(out / name)
            found.append(unpack_find(find, documents, out / name))
    return found


def unpack_find(find: Find, documents: Mapping[str, bytes], folder: Path) -> Path:
    """Write a solution, or a certificate with its payload, to a folder; return the file.

    Raises
    ------
    StoreError
        If a file cannot be written.
    """
    path = folder / f"{find.sha256}.json"
    files = {path: documents[find.sha256]}
    if find.payload_sha256:
        payload = gzip.compress(documents[find.payload_sha256], 1, mtime=0)
        files[folder / f"{find.payload_sha256}.json.gz"] = payload
    try:
        for one, content in files.items():
            one.write_bytes(content)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.") from error
    return path


def packed(lines: list[bytes]) -> bytes:
    """Compress lines with gzip, without a time stamp."""
    return gzip.compress(b"".join(line + b"\n" for line in lines), 9, mtime=0)


def usual_library(wanted: str | Path | None = None) -> Library | None:
    """Return the library that is asked for, or else the usual one; None if there is none.

    The usual one is the folder that the environment variable ``BOUNDMARK_LIBRARY`` names, or
    `library/` beside the code in a checkout; an installed package has none.

    Raises
    ------
    StoreError, InvalidInputError
        If the folder that is named is no library.
    """
    named = os.environ.get(VARIABLE) if wanted is None else wanted
    if named is not None:
        return Library.open(Path(named)) if str(named) else None
    # In a checkout, the code lies in folders at the root, and the library is another one.
    beside = Path(__file__).resolve().parents[2] / "library"
    return Library.open(beside) if (beside / FACTS).is_file() else None


def _facts(table: Mapping[str, Any]) -> Facts:
    kinds: Mapping[str, tuple[type, str]] = {
        "licence": (str, "a text"),
        "most_bytes": (int, "an integer"),
        "most_certificate_bytes": (int, "an integer"),
        "datasets": (dict, "a table"),
        "contributors": (dict, "a table"),
    }
    if table.get("format") != FORMAT:
        raise InvalidInputError(f"format is {quoted(table.get('format'))}; expected {FORMAT!r}.")
    for name, (kind, words) in kinds.items():
        if not isinstance(table.get(name), kind):
            raise InvalidInputError(f"{name} is {quoted(table.get(name))}; expected {words}.")
    for name, day in table["contributors"].items():
        if not isinstance(day, dt.date):
            raise InvalidInputError(f"contributor {quoted(name)} has no date of consent.")
    return Facts(**{name: table[name] for name in kinds})
