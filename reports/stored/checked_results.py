"""Let the checker see the best documents of a results folder, and leave out what it rejects.

Documents state costs and bounds, and anybody can write a document that states a better one, with
its hash for a name. So those that state the best cost or bound of an instance are checked before
anything is computed from them, and what is rejected is left out, until the best that is left is
accepted. All costs and bounds of an instance that the checker did not see are worse than that.

What was accepted is remembered, by the content of documents and by that of the checker. An entry is
the hash of an instance's and a document's hash; the files' content was hashed before. Entries lie
in the user's cache folder, one file for each version of the checker, so that no results folder can
bring its own. A rejection is not remembered: it is rare, and may have been for want of memory. All
entries may be deleted at any time.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from boundmark.reports.stored.accepted import Accepted
from boundmark.reports.stored.checking import Pair, check_documents
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.stored.supported import (
    COLUMNS,
    RESTING,
    Resting,
    SupportedResults,
    leave_out,
    supported_results,
)
from boundmark.reports.tables.rows import values_of
from boundmark.reports.text import count


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
class CheckedResults(SupportedResults):
    """A folder's rows and traces, without the best costs and bounds that the checker rejects.

    Attributes
    ----------
    checks
        What was checked.
    """

    checks: Checks


def ignore(checks: Checks) -> None:
    """Do nothing with the progress of checks."""


def checked_results(
    store: ResultStore,
    *,
    with_traces: bool = True,
    on_check: Callable[[Checks], None] = ignore,
) -> CheckedResults:
    """Read a folder's results, and leave out what no document supports or the checker rejects.

    Of each instance, the checker sees all documents with its best cost and with its best bound; if
    it rejects them, those with the next best, and so on. Worse costs and bounds are not checked.

    Parameters
    ----------
    with_traces
        Whether traces are wanted; if not, there are none.
    on_check
        Called with what is checked until now, after every check, and in the end.

    Raises
    ------
    StoreError
        If the results cannot be read, or the checker cannot be started.
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


def _without(supported: SupportedResults, rejected: pd.DataFrame, checks: Checks) -> CheckedResults:
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
    return CheckedResults(results, traces, pd.concat(left_out, ignore_index=True), checks)


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
        for pair, verdict in check_documents(self._directory, unknown):
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
