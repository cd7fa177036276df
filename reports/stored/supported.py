"""Leaves out stored costs and bounds that have no document: the cheap part of verification.

A row's cost or bound counts if the document whose hash it states is in the folder, unchanged, about
the same instance, and states the same value. Whether the document is right, the checker decides.
Each document is read and hashed, or its file is as it was when that was last done; see
`checked_files`.
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from boundmark.problems.files import (
    RefusedFileError,
    decompressed,
    open_regular,
    read_regular,
)
from boundmark.reports.stored.checked_files import (
    USUAL,
    CheckedFiles,
    FileState,
    Remembering,
    checked_files,
    file_state,
)
from boundmark.reports.stored.schema import TRACES
from boundmark.reports.stored.shards import as_frame
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import values_of

# Hash of the instance, hash of the document, and the value that a row states.
Stated: TypeAlias = tuple[str, object, int]

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
class Resting:
    """A column of values, and the folder of the documents that support it.

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
    Resting("objective", "solution_sha256", "solutions", "objective", "solution"),
    Resting("bound_certified", "certificate_sha256", "certificates", "bound", "bound_certified"),
)


NO_TRACES = as_frame(TRACES.empty_table())


@dataclass(frozen=True)
class SupportedResults:
    """A folder's rows and traces, without values that no document supports.

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


def supported_results(
    store: ResultStore, *, with_traces: bool = True, remembering: Remembering = USUAL
) -> SupportedResults:
    """Read a folder's results and leave out the costs and bounds that no document supports.

    Parameters
    ----------
    with_traces
        Whether traces are wanted; if not, there are none.
    remembering
        What is remembered of files that were read.

    Raises
    ------
    StoreError
        If the results cannot be read.
    """
    results, traces = store.results(), store.traces() if with_traces else NO_TRACES
    left_out = [pd.DataFrame(columns=COLUMNS)]
    with checked_files(store.directory, remembering) as files:
        reader = _Reader(str(store.directory), files)
        instance_fault = cache(reader.instance_fault)
        for resting in RESTING:
            columns = ("instance_sha256", resting.hash_column, resting.column)
            have = results[resting.column].notna()
            known = _is_known(files, resting, *(results.loc[have, name] for name in columns))
            having = results.loc[have.index[have][~known]]
            stated = list(zip(*(values_of(having[name]) for name in columns), strict=True))
            faults = reader.faults(resting, list(dict.fromkeys(stated)))
            reasons = [instance_fault(one[0]) or faults[one] for one in stated]
            wrong = having.assign(
                column=resting.column,
                value=having[resting.column],
                reason=pd.Series(reasons, index=having.index, dtype="object"),
            ).dropna(subset=["reason"])
            left_out.append(wrong[COLUMNS])
            traces = leave_out(resting, wrong, results, traces)
    return SupportedResults(results, traces, pd.concat(left_out, ignore_index=True))


def leave_out(
    resting: Resting, wrong: pd.DataFrame, results: pd.DataFrame, traces: pd.DataFrame
) -> pd.DataFrame:
    """Remove a column's values from results, in place, and return the other tasks' traces.

    Parameters
    ----------
    wrong
        Rows of the results whose value is to be missing.
    """
    results.loc[wrong.index, resting.column] = pd.NA
    results.loc[wrong.index, resting.hash_column] = None
    is_event = traces["task_id"].isin(wrong["task_id"]) & (traces["kind"] == resting.event)
    return traces[~is_event]


def _is_known(
    files: CheckedFiles,
    resting: Resting,
    instances: "pd.Series[str]",
    digests: "pd.Series[str]",
    values: "pd.Series[int]",
) -> npt.NDArray[np.bool_]:
    """Return which values are known to be supported, without a look into documents."""
    supported = files.support(resting.folder, digests, instances, values)
    return supported & files.are_unchanged("instances/" + instances + ".json")


@dataclass(frozen=True)
class _Reader:
    """Reads those documents of a folder that are not known to be unchanged."""

    root: str
    files: CheckedFiles

    def faults(self, resting: Resting, stated: Sequence[Stated]) -> dict[Stated, str | None]:
        """Return for each statement why no document supports it, None if one does."""

        def of_part(start: int) -> list[str | None]:
            return [self._fault(resting, *one) for one in stated[start : start + PART]]

        # While one waits for the disk, the other parses; more of them wait for each other.
        with ThreadPoolExecutor(2) as pool:
            found = list(chain.from_iterable(pool.map(of_part, range(0, len(stated), PART))))
        return dict(zip(stated, found, strict=True))

    def instance_fault(self, digest: object) -> str | None:
        """Return why an instance cannot be used, None if it can."""
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            return "instance_sha256 is no hash"
        name = f"instances/{digest}.json"
        content = self._unchanged(name, digest)
        if isinstance(content, str):
            return content
        self.files.remember(name, content[1])
        return None

    def _fault(self, resting: Resting, instance: str, digest: object, value: int) -> str | None:
        """Return why a document does not support a value, None if it does."""
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            return f"{resting.hash_column} is no hash"
        name = f"{resting.folder}/{digest}.json"
        content = self._unchanged(name, digest)
        if isinstance(content, str):
            return content
        try:
            document = json.loads(content[0])
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            return f"{name} is no JSON object"
        fields = ("instance_sha256", resting.stated, "payload_sha256")
        about, says, payload = map(document.get, fields)
        self.files.remember(name, content[1], about, says, payload)
        if about != instance:
            return f"{name} is about another instance"
        if says != value:
            return f"{name} states another value"
        return None if payload is None else self._payload_fault(resting, payload)

    def _payload_fault(self, resting: Resting, digest: Any) -> str | None:
        """Return why the file that holds a document's large payload cannot be used."""
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            return "payload_sha256 of its document is no hash"
        name = f"{resting.folder}/{digest}.json.gz"
        content = self._content(name)
        if isinstance(content, str):
            return content
        try:
            found = hashlib.sha256(decompressed(content[0])).hexdigest()
        except RefusedFileError as error:
            return f"{name} was changed: {error}"
        if found != digest:
            return f"{name} was changed"
        state = content[1]
        self.files.remember(name, state)
        return None

    def _unchanged(self, name: str, digest: str) -> tuple[bytes, FileState] | str:
        """Return a file's content and its state before it was read, or why it cannot be used."""
        found = self._content(name)
        if isinstance(found, str) or hashlib.sha256(found[0]).hexdigest() == digest:
            return found
        return f"{name} was changed"

    def _content(self, name: str) -> tuple[bytes, FileState] | str:
        """Return a file's content and its state before it was read, or why it cannot be used."""
        try:
            return _content_of(f"{self.root}/{name}")
        except FileNotFoundError:
            return f"{name} is not in the folder"
        except OSError as error:
            return f"{name} cannot be read: {error.strerror}"


def _content_of(path: str) -> tuple[bytes, FileState]:
    """Return a file's content: of 100,000 small ones, in half the time that file objects take."""
    file = open_regular(path)
    try:
        state = file_state(os.fstat(file))
        content = os.read(file, READ_AT_A_TIME)
        if len(content) < READ_AT_A_TIME:
            return content, state
    finally:
        os.close(file)
    return read_regular(path), state
