"""The documents of a results folder: read and written by hash, or parsed to objects."""

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.problems.files import read_regular
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.reports.stored.durable import write_durably

if TYPE_CHECKING:
    from boundmark.reports.stored.store import ResultStore

# Above this many characters, a payload goes compressed into a file of its own.
LARGEST_INLINE_PAYLOAD = 64 * 1024


def read_document(directory: Path, digest: str) -> dict[str, Any] | None:
    """Return a stored JSON document without large payload, None if it is not there.

    Raises
    ------
    StoreError
        If it cannot be read, or its content is not what its name says.
    """
    path = directory / f"{digest}.json"
    try:
        document = read_json(path)
    except FileNotFoundError:
        return None
    if not isinstance(document, dict) or sha256_hex(canonical_json(document)) != digest:
        raise StoreError(f"{path} was changed; expected the content with the hash that names it.")
    return document


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file of a results folder.

    Raises
    ------
    FileNotFoundError
        If there is none.
    StoreError
        If it cannot be read, or is not what the folder's own files are: regular, of 128 MiB at
        most, JSON.
    """
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

    Raises
    ------
    StoreError
        If the file cannot be written.
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
    """Return a stored document, parsed; None if it is missing.

    Parameters
    ----------
    folder
        Where the store keeps documents of this sort, e.g. `store.instances`.
    digest
        Hash of the document; missing where a task left none.
    parse
        Makes an object of the document, e.g. `Schedule.from_json`.

    Raises
    ------
    StoreError
        If the document is damaged.
    """
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
    """Return a row's instance and solution as objects, None if one of them is not stored.

    Parameters
    ----------
    row
        With `instance_sha256` and `solution_sha256`.

    Raises
    ------
    StoreError
        If one of them is damaged.
    """
    instance = read_parsed(store.instances, row.instance_sha256, parse_instance)
    solution = read_parsed(store.solutions, row.solution_sha256, parse_solution)
    return None if instance is None or solution is None else (instance, solution)
