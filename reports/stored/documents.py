"""Instances, solutions and certificates as files named after the hash of their content."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boundmark.problems.canonical import canonical_json, sha256_hex
from boundmark.problems.errors import StoreError
from boundmark.problems.regular_file import read_regular
from boundmark.reports.stored.durable import write_durably

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
    """Return what a JSON file of a results folder says.

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
