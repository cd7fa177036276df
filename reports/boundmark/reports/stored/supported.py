"""Leaves out stored costs and bounds that have no document: the cheap part of verification.

A row's cost or bound counts if the document whose hash it states is in the folder, unchanged, about
the same instance, and states the same value. Whether the document is right, the checker decides.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.reports.stored.store import ResultStore

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
    left_out: list[dict[str, Any]] = []
    instance_fault = cache(lambda digest: _instance_fault(store.instances, digest))
    for resting in RESTING:
        document_of = cache(lambda digest, r=resting: _document(store.directory / r.folder, digest))
        for index in results.index[results[resting.column].notna()]:
            row: Mapping[str, Any] = results.loc[index].to_dict()
            reason = instance_fault(row["instance_sha256"]) or _fault(row, resting, document_of)
            if reason is None:
                continue
            facts = {name: row[name] for name in COLUMNS if name in row}
            value = int(row[resting.column])
            left_out.append(facts | {"column": resting.column, "value": value, "reason": reason})
            results.loc[index, resting.column] = pd.NA
            results.loc[index, resting.hash_column] = None
            is_event = (traces["task_id"] == row["task_id"]) & (traces["kind"] == resting.event)
            traces = traces[~is_event]
    return SupportedResults(results, traces, pd.DataFrame(left_out, columns=COLUMNS))


def _fault(row: Mapping[str, Any], resting: _Resting, document_of: Any) -> str | None:
    digest = row[resting.hash_column]
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        return f"{resting.hash_column} is no hash"
    document = document_of(digest)
    if isinstance(document, str):
        return document
    if document.get("instance_sha256") != row["instance_sha256"]:
        return f"{resting.folder}/{digest}.json is about another instance"
    if document.get(resting.stated) != row[resting.column]:
        return f"{resting.folder}/{digest}.json states another value"
    return None


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
    name = f"{folder.name}/{digest}.json"
    return document if isinstance(document, dict) else f"{name} is no JSON object"


def _unchanged(folder: Path, digest: str) -> bytes | str:
    """Return a file's content, or why it cannot be used."""
    name = f"{folder.name}/{digest}.json"
    try:
        content = (folder / f"{digest}.json").read_bytes()
    except OSError:
        return f"{name} is not in the folder"
    if hashlib.sha256(content).hexdigest() != digest:
        return f"{name} was changed"
    return content
