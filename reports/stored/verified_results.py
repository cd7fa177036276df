"""A folder's results without what no document supports or the checker rejects.

A row's cost or bound is supported if the document whose hash it states is in the folder, unchanged,
about the same instance, and states the same value. Whether the document is right, the checker
decides.

Anybody can write a document that states a better cost or bound, with its hash for a name. So those
that state the best of an instance are checked before anything is computed from them, and what is
rejected is left out, until the best that is left is accepted. All costs and bounds of an instance
that the checker did not see are worse than that. A rejection is not remembered: it is rare, and may
have been for want of memory.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

import pandas as pd

from boundmark.problems.files import RefusedFileError, decompressed, open_regular, read_regular
from boundmark.reports.stored.accepted import Accepted
from boundmark.reports.stored.parquet import as_frame
from boundmark.reports.stored.schema import TRACES
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.verification import Pair, verify_documents
from boundmark.reports.tables.rows import values_of
from boundmark.reports.text import count

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


def supported_results(store: ResultStore, *, with_traces: bool = True) -> SupportedResults:
    """Read a folder's results and leave out the costs and bounds that no document supports."""
    results, traces = store.results(), store.traces() if with_traces else NO_TRACES
    left_out = [pd.DataFrame(columns=COLUMNS)]
    reader = _Reader(str(store.directory))
    instance_fault = cache(reader.instance_fault)
    for resting in RESTING:
        columns = ("instance_sha256", resting.hash_column, resting.column)
        having = results[results[resting.column].notna()]
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
    """Remove a column's values from results, in place, and return the other tasks' traces."""
    results.loc[wrong.index, resting.column] = pd.NA
    results.loc[wrong.index, resting.hash_column] = None
    is_event = traces["task_id"].isin(wrong["task_id"]) & (traces["kind"] == resting.event)
    return traces[~is_event]


@dataclass(frozen=True)
class _Reader:
    """Reads the documents of a folder."""

    root: str

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
        return content if isinstance(content, str) else None

    def _fault(self, resting: Resting, instance: str, digest: object, value: int) -> str | None:
        """Return why a document does not support a value, None if it does."""
        if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
            return f"{resting.hash_column} is no hash"
        name = f"{resting.folder}/{digest}.json"
        content = self._unchanged(name, digest)
        if isinstance(content, str):
            return content
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            return f"{name} is no JSON object"
        fields = ("instance_sha256", resting.stated, "payload_sha256")
        about, says, payload = map(document.get, fields)
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
            found = hashlib.sha256(decompressed(content)).hexdigest()
        except RefusedFileError as error:
            return f"{name} was changed: {error}"
        return None if found == digest else f"{name} was changed"

    def _unchanged(self, name: str, digest: str) -> bytes | str:
        """Return the content of a file that is called as its hash, or why it cannot be used."""
        found = self._content(name)
        if isinstance(found, str) or hashlib.sha256(found).hexdigest() == digest:
            return found
        return f"{name} was changed"

    def _content(self, name: str) -> bytes | str:
        """Return a file's content, or why it cannot be used."""
        try:
            return _content_of(f"{self.root}/{name}")
        except FileNotFoundError:
            return f"{name} is not in the folder"
        except OSError as error:
            return f"{name} cannot be read: {error.strerror}"


def _content_of(path: str) -> bytes:
    """Return a file's content: of 100,000 small ones, in half the time that file objects take."""
    file = open_regular(path)
    try:
        content = os.read(file, READ_AT_A_TIME)
        if len(content) < READ_AT_A_TIME:
            return content
    finally:
        os.close(file)
    return read_regular(path)


@dataclass(frozen=True)
class Checks:
    """Numbers of documents that were checked so far.

    Attributes
    ----------
    documents
        Number of documents that state a best cost or bound, of those known until now.
    remembered
        Those that the same checker accepted in an earlier run.
    checked
        Those that were checked in this one.
    rejected
        Those that it rejected.
    seconds
        Wall time.
    """

    documents: int = 0
    remembered: int = 0
    checked: int = 0
    rejected: int = 0
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """A sentence with these numbers and the time."""
        return (
            f"{count(self.documents, 'document')} with the best cost or bound of an instance: "
            f"{self.checked:,} checked now, {self.remembered:,} accepted earlier by the same "
            f"checker, {self.rejected or 'none'} rejected; {self.seconds:.1f} s."
        )


@dataclass(frozen=True)
class VerifiedResults(SupportedResults):
    """A folder's rows and traces, without the best costs and bounds that the checker rejects.

    Attributes
    ----------
    checks
        What was checked.
    """

    checks: Checks


def ignore(checks: Checks) -> None:
    """Do nothing with the progress of checks."""


def verified_results(
    store: ResultStore,
    *,
    with_traces: bool = True,
    on_check: Callable[[Checks], None] = ignore,
) -> VerifiedResults:
    """Read a folder's results, and leave out what no document supports or the checker rejects.

    Of each instance, the checker sees all documents with its best cost and with its best bound; if
    it rejects them, those with the next best, and so on. Worse costs and bounds are not checked.
    """
    supported = supported_results(store, with_traces=with_traces)
    checks = _Checks(store, on_check)
    contenders = pd.concat([_contenders(supported.results, resting) for resting in RESTING])
    rejected = [contenders.iloc[:0].assign(reason="")]
    try:
        while len(contenders):
            wrong = _wrong_leaders(contenders, checks)
            rejected.append(wrong)
            # Where the best is accepted, it stays the best.
            again = contenders["instance"].isin(wrong["instance"])
            contenders = contenders[again].drop(wrong.index)
    finally:
        checks.accepted.save()
    on_check(checks.now())
    return _without(supported, pd.concat(rejected), checks.now())


def _contenders(results: pd.DataFrame, resting: Resting) -> pd.DataFrame:
    """Return the rows with a value, the smaller the better, by column and row of the results."""
    having = results[results[resting.column].notna()]
    sign = -1 if resting.column == "bound_certified" else 1
    return pd.DataFrame(
        {
            "instance": having["instance_sha256"].to_numpy(),
            "document": (resting.folder + "/" + having[resting.hash_column] + ".json").to_numpy(),
            "value": sign * having[resting.column].to_numpy("int64"),
        },
        pd.MultiIndex.from_product([[resting.column], having.index]),
    )


def _wrong_leaders(contenders: pd.DataFrame, checks: "_Checks") -> pd.DataFrame:
    """Return the rows with the best value of their column and instance that is rejected.

    Of equal values, all documents are checked: whichever of their methods a table names was right.
    """
    keys = [contenders.index.get_level_values(0), contenders["instance"]]
    best = contenders.groupby(keys, sort=False)["value"].transform("min")
    leading = contenders[contenders["value"] == best]
    pairs = [*zip(values_of(leading["instance"]), values_of(leading["document"]), strict=True)]
    reasons = pd.Series(checks.reasons(pairs), index=leading.index, dtype="object")
    return leading.assign(reason=reasons).dropna(subset=["reason"])


def _without(
    supported: SupportedResults, rejected: pd.DataFrame, checks: Checks
) -> VerifiedResults:
    results, traces = supported.results, supported.traces
    left_out = [supported.unsupported]
    for resting in RESTING:
        own = rejected[rejected.index.get_level_values(0) == resting.column].droplevel(0)
        wrong = results.loc[own.index].assign(
            column=resting.column,
            value=results.loc[own.index, resting.column],
            reason=_told(own),
        )
        left_out.append(wrong[COLUMNS])
        traces = leave_out(resting, wrong, results, traces)
    return VerifiedResults(results, traces, pd.concat(left_out, ignore_index=True), checks)


def _told(rejected: pd.DataFrame) -> "pd.Series[str]":
    return "the checker rejects " + rejected["document"] + ": " + rejected["reason"]


class _Checks:
    """Asks the checker about each document once, unless it is known to be accepted."""

    def __init__(self, store: ResultStore, on_check: Callable[[Checks], None]) -> None:
        self.accepted = Accepted()
        self._directory = store.directory
        self._on_check = on_check
        self._reasons: dict[Pair, str | None] = {}
        self._documents = self._remembered = self._checked = self._rejected = 0
        self._start = time.monotonic()

    def reasons(self, pairs: Sequence[Pair]) -> list[str | None]:
        """Return the reason why each document is rejected, None if it is accepted."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._reasons]
        self._documents += len(new)
        known = {pair for pair in new if self.accepted.has(*pair)}
        self._reasons |= dict.fromkeys(known)
        self._remembered += len(known)
        # A process that checks several documents about an instance reads it once.
        unknown = sorted(pair for pair in new if pair not in known)
        for pair, verdict in verify_documents(self._directory, unknown):
            self._checked += 1
            self._rejected += verdict.reason is not None
            self._reasons[pair] = verdict.reason
            if verdict.is_lasting:
                self.accepted.add(*pair)
            self._on_check(self.now())
        return [self._reasons[pair] for pair in pairs]

    def now(self) -> Checks:
        """Return the numbers so far."""
        return Checks(
            self._documents,
            self._remembered,
            self._checked,
            self._rejected,
            time.monotonic() - self._start,
        )
