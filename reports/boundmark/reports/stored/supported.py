"""Leaves out stored costs and bounds that have no document: the cheap part of verification.

A row's cost or bound counts if the document whose hash it states is in the folder, unchanged, about
the same instance, and states the same value. Whether the document is right, the checker decides.
"""

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import values_of

# Documents that a thread reads at a time.
PART = 200

READ_AT_A_TIME = 1 << 16

DIGEST = re.compile("[0-9a-f]{64}")

COLUMNS = [
    "task_id",
    "problem",
    "dataset",
    "instance",
    "instance_sha256",
    "method",
    "column",
    "value",
    "reason",
]


@dataclass(frozen=True)
class _Resting:
    """A column of values, and where the documents are that it rests on.

    Attributes
    ----------
    stated
        The document's field with the value.
    event
        Kind of the trace events that lead to the value.
    """

    column: str
    hash_column: str
    folder: str
    stated: str
    event: str


RESTING = (
    _Resting("objective", "solution_sha256", "solutions", "objective", "solution"),
    _Resting("bound_certified", "certificate_sha256", "certificates", "bound", "bound_certified"),
)


@dataclass(frozen=True)
class SupportedResults:
    """A folder's rows and traces as far as documents support them.

    Attributes
    ----------
    results, traces
        As in the store, but unsupported values are missing and so are the events that led there.
    unsupported
        One row per value that was left out, with the reason.
    """

    results: pd.DataFrame
    traces: pd.DataFrame
    unsupported: pd.DataFrame


def supported_results(store: ResultStore) -> SupportedResults:
    """Read a folder's results and leave out the costs and bounds that no document supports.

    Raises
    ------
    StoreError
        If the results cannot be read.
    """
    results, traces = store.results(), store.traces()
    left_out = [pd.DataFrame(columns=COLUMNS)]
    instance_fault = cache(partial(_instance_fault, store.instances))
    for resting in RESTING:
        having = results[results[resting.column].notna()]
        columns = ("instance_sha256", resting.hash_column, resting.column)
        stated = list(zip(*(values_of(having[name]) for name in columns), strict=True))
        faults = _faults(store.directory / resting.folder, resting, list(dict.fromkeys(stated)))
        reasons = [instance_fault(one[0]) or faults[one] for one in stated]
        wrong = having.assign(
            column=resting.column,
            value=having[resting.column],
            reason=pd.Series(reasons, index=having.index, dtype="object"),
        ).dropna(subset=["reason"])
        left_out.append(wrong[COLUMNS])
        results.loc[wrong.index, resting.column] = pd.NA
        results.loc[wrong.index, resting.hash_column] = None
        is_event = traces["task_id"].isin(wrong["task_id"]) & (traces["kind"] == resting.event)
        traces = traces[~is_event]
    return SupportedResults(results, traces, pd.concat(left_out, ignore_index=True))


def _faults(
    folder: Path, resting: _Resting, stated: Sequence[tuple[str, object, int]]
) -> dict[tuple[str, object, int], str | None]:
    """Return for each instance, hash and value why no document supports it, None if one does."""

    def of_part(start: int) -> list[str | None]:
        return [_fault(folder, resting, *one) for one in stated[start : start + PART]]

    # While one waits for the disk, the other parses; more of them wait for each other.
    with ThreadPoolExecutor(2) as pool:
        found = list(chain.from_iterable(pool.map(of_part, range(0, len(stated), PART))))
    return dict(zip(stated, found, strict=True))


def _fault(
    folder: Path, resting: _Resting, instance: str, digest: object, value: int
) -> str | None:
    """Return why a document does not support a value, None if it does."""
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        return f"{resting.hash_column} is no hash"
    document = _document(folder, digest)
    if isinstance(document, str):
        return document
    if document.get("instance_sha256") != instance:
        return f"{folder.name}/{digest}.json is about another instance"
    if document.get(resting.stated) != value:
        return f"{folder.name}/{digest}.json states another value"
    return _payload_fault(folder, document)


def _payload_fault(folder: Path, document: Mapping[str, Any]) -> str | None:
    """Return why the file that holds a document's large payload cannot be used."""
    digest = document.get("payload_sha256")
    if digest is None:
        return None
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        return "payload_sha256 of its document is no hash"
    name = f"{folder.name}/{digest}.json.gz"
    found = hashlib.sha256()
    try:
        with gzip.open(folder / f"{digest}.json.gz") as file:
            while chunk := file.read(1 << 20):
                found.update(chunk)
    except FileNotFoundError:
        return f"{name} is not in the folder"
    except (OSError, EOFError, zlib.error):
        return f"{name} was changed"
    return None if found.hexdigest() == digest else f"{name} was changed"


def _instance_fault(folder: Path, digest: object) -> str | None:
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        return "instance_sha256 is no hash"
    content = _unchanged(folder, digest)
    return content if isinstance(content, str) else None


def _document(folder: Path, digest: str) -> dict[str, Any] | str:
    """Return a document, or why it cannot be used."""
    content = _unchanged(folder, digest)
    if isinstance(content, str):
        return content
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return document
    return f"{folder.name}/{digest}.json is no JSON object"


def _bytes_of(path: str) -> bytes:
    """Return a file's content: of 100,000 small ones, in half the time that file objects take."""
    file = os.open(path, os.O_RDONLY)
    try:
        content = os.read(file, READ_AT_A_TIME)
        if len(content) < READ_AT_A_TIME:
            return content
        return content + b"".join(iter(partial(os.read, file, READ_AT_A_TIME), b""))
    finally:
        os.close(file)


def _unchanged(folder: Path, digest: str) -> bytes | str:
    """Return a file's content, or why it cannot be used."""
    try:
        content = _bytes_of(f"{folder}/{digest}.json")
    except OSError:
        return f"{folder.name}/{digest}.json is not in the folder"
    if hashlib.sha256(content).hexdigest() != digest:
        return f"{folder.name}/{digest}.json was changed"
    return content
