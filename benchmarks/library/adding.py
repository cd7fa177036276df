"""Add to the library the results of a folder that are better than its own."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.library.entry import Entry, Find, What
from boundmark.benchmarks.library.folder import FACTS, Library, packed
from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.files import decompressed, read_regular
from boundmark.problems.json_documents import sha256_hex
from boundmark.problems.labels import read_labels
from boundmark.reports.stored.store import ResultStore, read_json
from boundmark.reports.stored.verification import verify_documents
from boundmark.reports.stored.verified_results import Checks, ignore, verified_results
from boundmark.reports.tables.rows import best_rows
from boundmark.reports.text import count, size


@dataclass
class Added:
    """The entries that a results folder added to the library; texts name instances.

    Attributes
    ----------
    instances
        Those that the library did not have.
    solutions, bounds
        Those whose cost or bound is better than the library's.
    recipes
        Those with a better bound whose certificate is too large to be kept.
    again
        Those of which the library has a recipe, and the folder a certificate of an equal bound.
    same
        How many of these certificates have the hash that the library says.
    renewed
        Those whose solution or bound was found by code that was not committed, and now has an equal
        one of committed code in its place.
    refused
        Instances of data sets that the library does not show, by data set.
    """

    instances: list[str] = field(default_factory=list)
    solutions: list[str] = field(default_factory=list)
    bounds: list[str] = field(default_factory=list)
    recipes: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    same: int = 0
    renewed: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """Return what was added as sentences."""
        lines = [
            f"{count(len(self.instances), 'instance')} added; "
            f"{count(len(self.solutions), 'solution')} and {count(len(self.bounds), 'bound')} "
            "better than the library's"
        ]
        if self.recipes:
            lines.append(
                f"{count(len(self.recipes), 'better bound')} by recipe, since certificates are too "
                "large to be kept"
            )
        if self.again:
            lines.append(
                f"{count(len(self.again), 'certificate')} by recipe made again, "
                f"{self.same} of them with the same hash"
            )
        if self.renewed:
            lines.append(
                f"{count(len(self.renewed), 'result')} of code that was not committed replaced by "
                "equal ones of committed code"
            )
        lines += [
            f"left out: {count(number, 'instance')} of {name}, which {FACTS} does not list"
            for name, number in self.refused.items()
        ]
        return lines


@dataclass
class _Change:
    """An entry that becomes better, with all documents that it may name."""

    entry: Entry
    documents: dict[str, bytes]


def add_results(
    library: Library,
    directory: Path,
    by: str,
    *,
    is_trial: bool = False,
    on_check: Callable[[Checks], None] = ignore,
) -> Added:
    """Add the solutions and bounds of a results folder that are better than the library's.

    The checker sees each of them first. Either all are added or, after an error, none.

    Parameters
    ----------
    by
        Who adds them: one of the library's contributors.
    is_trial
        Whether to write nothing.

    Raises
    ------
    InvalidInputError
        If `by` has not agreed to the library's licence, or an entry is damaged.
    StoreError
        If the folder holds no results, a cost is below a bound, the library would be too large, or
        what is better was found by code that was not committed.
    """
    if by not in library.facts.contributors:
        raise InvalidInputError(
            f"{by!r} has not agreed that what is added is under {library.facts.licence}; expected "
            f"a line for them under [contributors] in {library.directory / FACTS}."
        )
    store = ResultStore.open(directory)
    results = verified_results(store, with_traces=False, on_check=on_check).results
    adding = _Adding(library, store, by)
    for dataset, own in results.groupby("dataset"):
        if dataset not in library.facts.datasets:
            adding.added.refused[str(dataset)] = own["instance_sha256"].nunique()
    results = results[results["dataset"].isin(list(library.facts.datasets))]
    for what in _COLUMNS:
        best = best_rows(results, _COLUMNS[what][0], highest=what == "bound")
        for row in best.sort_values(["problem", "dataset", "instance"]).to_dict("records"):
            if adding.consider(what, row):
                own = results[results["instance_sha256"] == row["instance_sha256"]]
                adding.consider_smaller(own[own[BOUND].notna()])
    adding.check_budget()
    if not is_trial:
        for change in adding.changes.values():
            library.write(change.entry, change.documents)
    return adding.added


BOUND = "bound_certified"

# Columns of a row with the value and with the hash of its document.
_COLUMNS: Mapping[What, tuple[str, str]] = {
    "solution": ("objective", "solution_sha256"),
    "bound": (BOUND, "certificate_sha256"),
}


class _Adding:
    """Collects the changes that rows of results make to the library."""

    def __init__(self, library: Library, store: ResultStore, by: str) -> None:
        self._library, self._store, self._by = library, store, by
        self._environment = cache(self._read_environment)
        self.added = Added()
        self.changes: dict[str, _Change] = {}

    def consider(self, what: What, row: Mapping[Any, Any]) -> bool:
        """Take the solution or bound of a row if it is better than the known one.

        Returns
        -------
        Whether it is a bound that is better and too large to be kept, so that one less good may be.
        """
        change = self._change_of(row)
        value, digest = int(row[_COLUMNS[what][0]]), str(row[_COLUMNS[what][1]])
        entry, label = change.entry, change.entry.label
        beyond = entry.beyond if what == "bound" else None
        if beyond is not None and beyond.value == value:
            self.added.again.append(label)
            self.added.same += beyond.sha256 == digest
        known: Find | None = getattr(entry, what)
        if known is not None and value == known.value and not known.is_of_committed_code:
            self._renew(what, change, row)
            return False
        if known is not None and not _is_better(what, value, known.value):
            return False
        documents = self._documents(what, digest)
        find = self._find(row, value, [*documents])
        most = self._library.facts.most_certificate_bytes
        is_large = what == "bound" and len(packed([*documents.values()])) > most
        if is_large and beyond is not None and value <= beyond.value:
            return True
        better = entry.improved("beyond" if is_large else what, find)
        try:
            better.check_order()
        except InvalidInputError as error:
            raise StoreError(f"{error} Nothing is added.") from error
        if not is_large:
            change.documents |= documents
        self.changes[entry.instance_sha256] = _Change(better, change.documents)
        if is_large:
            self.added.recipes.append(label)
        else:
            (self.added.solutions if what == "solution" else self.added.bounds).append(label)
        return is_large

    def _renew(self, what: What, change: _Change, row: Mapping[Any, Any]) -> None:
        """Put an equally good result in the place of one that nobody can find again."""
        documents = self._documents(what, str(row[_COLUMNS[what][1]]))
        most = self._library.facts.most_certificate_bytes
        if what == "bound" and len(packed([*documents.values()])) > most:
            return
        find = self._find(row, int(row[_COLUMNS[what][0]]), [*documents])
        entry = change.entry.renewed(what, find)
        self.changes[entry.instance_sha256] = _Change(entry, change.documents | documents)
        self.added.renewed.append(entry.label)

    def consider_smaller(self, rows: pd.DataFrame) -> None:
        """Take the best bound of an instance whose certificate may be kept, if it is better.

        Parameters
        ----------
        rows
            Those with a certified bound of one instance; the checker has not seen all of them.
        """
        most = self._library.facts.most_certificate_bytes
        ordered = rows.sort_values(BOUND, ascending=False, kind="stable")
        for row in ordered.drop_duplicates("certificate_sha256").to_dict("records"):
            known = self._change_of(row).entry.bound
            if known is not None and int(row[BOUND]) <= known.value:
                return
            digest = str(row["certificate_sha256"])
            if len(packed([*self._documents("bound", digest).values()])) > most:
                continue
            pair = (str(row["instance_sha256"]), f"certificates/{digest}.json")
            ((_, verdict),) = verify_documents(self._store.directory, [pair])
            if verdict.reason is None:
                self.consider("bound", row)
                return

    def check_budget(self) -> None:
        """Raise `StoreError` if the library would have more bytes than it may."""
        bytes_after = self._library.size
        for change in self.changes.values():
            lines = [change.documents[name] for name in dict.fromkeys(change.entry.documents)]
            bytes_after += len(packed(lines)) + len(change.entry.to_text().encode())
            bytes_after -= self._library.size_of(change.entry)
        most = self._library.facts.most_bytes
        if bytes_after > most:
            raise StoreError(
                f"the library would have {size(bytes_after)}; expected at most {size(most)}, so "
                "nothing is added."
            )

    def _change_of(self, row: Mapping[Any, Any]) -> _Change:
        """Return the entry of a row's instance as it will be; a new one if there is none."""
        digest = str(row["instance_sha256"])
        if digest in self.changes:
            return self.changes[digest]
        known = self._library.find(str(row["problem"]), digest)
        if known is not None:
            return _Change(known, self._library.documents(known))
        instance = _line(self._store.instances / f"{digest}.json", digest)
        labels = self._labels(row)
        entry = Entry(
            problem=str(row["problem"]),
            dataset=str(row["dataset"]),
            instance=str(row["instance"]),
            device="" if pd.isna(row["device"]) else str(row["device"]),
            parameters=json.loads(row["instance_params"]),
            instance_sha256=digest,
            labels_sha256=sha256_hex(labels.decode()) if labels else "",
            nodes=int(row["nodes"]),
            edges=int(row["edges"]),
            solution=None,
            bound=None,
        )
        documents = {digest: instance}
        if labels:
            documents[entry.labels_sha256] = labels
        self.added.instances.append(entry.label)
        return _Change(entry, documents)

    def _labels(self, row: Mapping[Any, Any]) -> bytes:
        """Return the stored names of an instance's nodes; nothing if there are none."""
        digest = str(row["instance_sha256"])
        path = self._store.labels / f"{digest}.json"
        try:
            read_labels(
                path, problem=str(row["problem"]), instance_sha256=digest, nodes=int(row["nodes"])
            )
            content = read_regular(path)
        except (InvalidInputError, OSError):
            return b""
        return content if b"\n" not in content else b""

    def _documents(self, what: What, digest: str) -> dict[str, bytes]:
        """Return the solution, or the certificate and its payload, by hash."""
        folder = self._store.solutions if what == "solution" else self._store.certificates
        document = _line(folder / f"{digest}.json", digest)
        found = {digest: document}
        payload = json.loads(document).get("payload_sha256")
        if payload is not None:
            path = folder / f"{payload}.json.gz"
            found[payload] = _own(path, decompressed(read_regular(path)), payload)
        return found

    def _find(self, row: Mapping[Any, Any], value: int, digests: list[str]) -> Find:
        record = self._environment(str(row["environment_sha256"]))
        commit = commit_of(record)
        if commit.endswith("+"):
            raise StoreError(
                f"{self._store.directory}: {row['dataset']}/{row['instance']} was treated by code "
                f"with changes since commit {commit[:12].rstrip('+')} that were not committed, so "
                "that nobody can do it again; commit them, run the suite into a new folder, and "
                "add that. Nothing is added."
            )
        return Find(
            value=value,
            sha256=digests[0],
            payload_sha256=digests[1] if digests[1:] else "",
            method=str(row["method"]),
            method_version=int(row["method_version"]),
            params=json.loads(row["params"]),
            seed=int(row["seed"]),
            time_limit_seconds=float(row["time_limit_seconds"]),
            memory_limit_bytes=int(row["memory_limit_bytes"]),
            threads=int(row["threads"]),
            check_seconds=round(float(row["verify_seconds"]), 1),
            boundmark=str(record.get("libraries", {}).get("boundmark", "")),
            commit=commit,
            date=row["started_at"].strftime("%Y-%m-%d"),
            by=self._by,
        )

    def _read_environment(self, digest: str) -> Mapping[str, Any]:
        try:
            record = read_json(self._store.environments / f"{digest}.json")
        except (FileNotFoundError, StoreError):
            return {}
        return record if isinstance(record, dict) else {}


def commit_of(record: Mapping[str, Any]) -> str:
    """Return the commit in a record of a run's environment, as `Find` has it."""
    commit = str(record.get("commit") or "")
    return commit + "+" * bool(commit and record.get("dirty"))


def _is_better(what: What, value: int, known: int) -> bool:
    return value < known if what == "solution" else value > known


def _line(path: Path, digest: str) -> bytes:
    try:
        return _own(path, read_regular(path), digest)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error


def _own(path: Path, content: bytes, digest: str) -> bytes:
    """Return a document that has the hash that names it and is a line of text."""
    if sha256_hex(content.decode(errors="replace")) != digest or b"\n" in content:
        raise StoreError(f"{path} was changed; expected the content with the hash that names it.")
    return content
