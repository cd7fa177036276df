"""Reads the files that are checked: instances, solutions, certificates and their payloads."""

import gzip
import hashlib
import io
import json
import os
import re
import stat
import zlib
from pathlib import Path
from typing import Any

from .budget import MOST_VALUE_BYTES, limited
from .values import Rejected, TooLarge, quoted, require_text

INSTANCE_FORMAT = "boundmark-instance/1"
CERTIFICATE_FORMAT = "boundmark-certificate/1"
SOLUTION_FORMAT = "boundmark-solution/1"

LARGEST_FILE = 2**27


def instance_sha256(document: dict[str, Any]) -> str:
    """Return the hash of an instance's canonical JSON, which identifies it."""
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise Rejected("the instance is not JSON") from None
    return hashlib.sha256(text.encode()).hexdigest()


def read_document(path: Path) -> dict[str, Any]:
    """Read an instance, a solution, or a certificate together with its payload."""
    with limited("the file"):
        data = _read(path, "the file")
        named = re.fullmatch("[0-9a-f]{64}", path.stem)
        if named and path.stem != hashlib.sha256(data).hexdigest():
            raise Rejected("the file is named after a hash that is not its content's")
        document = _values(data, "the file")
        if type(document) is not dict:
            raise Rejected("the file is not a JSON object")
        if "payload_file" in document:
            if "payload" in document or "payload_sha256" not in document:
                raise Rejected("the certificate does not have one payload")
            name, sha256 = document.pop("payload_file"), document.pop("payload_sha256")
            payload = _decompressed(name, path.parent)
            require_text(sha256, "payload_sha256", hashlib.sha256(payload).hexdigest())
            document["payload"] = _values(payload, "the payload file", _size_of_values(data))
        return document


# How names of files end that have a document in each line, and how those of payloads look.
BUNDLES = (".jsonl", ".jsonl.gz")
PAYLOAD = re.compile("[0-9a-f]{64}[.]json[.]gz")


def read_documents(path: Path) -> list[dict[str, Any]]:
    """Read a document, or a file with one in each line, whose certificates hold their payload."""
    if PAYLOAD.fullmatch(path.name):
        raise Rejected("the file is the payload of a certificate; give the certificate's file")
    if not path.name.endswith(BUNDLES):
        return [read_document(path)]
    with limited("the file"):
        data = _read(path, "the file")
        if path.suffix == ".gz":
            data = _expanded(data, "the file")
        found, held = [], 0
        for number, line in enumerate(data.splitlines(), 1):
            document = _values(line, f"line {number}", held)
            if type(document) is not dict:
                raise Rejected(f"line {number} is not a JSON object")
            found.append(document)
            held += _size_of_values(line)
        if not found:
            raise Rejected("the file has no documents")
        return found


def _read(path: Path, what: str) -> bytes:
    """Return the content of a regular file; pipes and devices may have no end."""
    try:
        # Without waiting for somebody to write into a pipe, where there are such.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        raise Rejected(f"{what} cannot be read") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Rejected(f"{what} is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError:
        raise Rejected(f"{what} cannot be read") from None
    finally:
        os.close(descriptor)
    if len(data) > LARGEST_FILE:
        raise TooLarge(f"{what} has more than {LARGEST_FILE >> 20} MiB")
    return data


def _decompressed(name: Any, folder: Path) -> bytes:
    if type(name) is not str or not PAYLOAD.fullmatch(name):
        raise Rejected(
            "payload_file is not the name of a file in the certificate's folder, "
            f"but {quoted(name)}"
        )
    return _expanded(_read(folder / name, "the payload file"), "the payload file")


def _expanded(compressed: bytes, what: str) -> bytes:
    try:
        data = gzip.GzipFile(fileobj=io.BytesIO(compressed)).read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error):
        raise Rejected(f"{what} cannot be decompressed") from None
    if len(data) > LARGEST_FILE:
        raise TooLarge(f"{what} has more than {LARGEST_FILE >> 20} MiB, decompressed")
    return data


def _values(data: bytes, what: str, held: int = 0) -> Any:
    """Parse a JSON text in which all numbers are integers and no object repeats a field."""
    if held + _size_of_values(data) > MOST_VALUE_BYTES:
        raise TooLarge(f"{what} takes more than {MOST_VALUE_BYTES >> 20} MiB of memory")
    try:
        return json.loads(
            data.decode(),
            parse_float=_no_number,
            parse_constant=_no_number,
            object_pairs_hook=_without_repetition,
        )
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise Rejected(f"{what} is not JSON") from None
    except RecursionError:
        raise Rejected(f"{what} is nested too deeply") from None
    except ValueError:
        # Python converts no integers of thousands of digits.
        raise Rejected(f"{what} has an integer of too many digits") from None


def _size_of_values(data: bytes) -> int:
    """Return an upper bound on the bytes that a JSON text takes once parsed, with the text itself.

    Counted are lists, objects, entries, fields and texts, by the characters that they need.
    """
    return (
        (3 if data.isascii() else 9) * len(data)
        + 96 * data.count(b"[")
        + 300 * data.count(b"{")
        + 48 * data.count(b",")
        + 120 * data.count(b":")
        + 30 * data.count(b'"')
    )


def _no_number(written: str) -> Any:
    raise Rejected(f"the file has the number {quoted(written)}, which is not an integer")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Rejected(f"an object of the file has the field {quoted(name)} twice")
            seen.add(name)
    return found
