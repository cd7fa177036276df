"""Add to the library the solutions and certificates of a results folder that are better."""

import datetime as dt
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from boundmark.benchmarks.library.folder import FACTS, FOLDERS, Entry, Library
from boundmark.benchmarks.running.storing import locked
from boundmark.benchmarks.solving.answer import GIVEN
from boundmark.bounds import checker
from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError, StoreError, find
from boundmark.problems.files import read_regular
from boundmark.problems.labels import read_labels
from boundmark.reports.stored.durable import make_folder, remove_partial_files, write_durably
from boundmark.reports.stored.store import ResultStore, read_document
from boundmark.reports.text import count


@dataclass
class Added:
    """The entries that a results folder added to the library; texts name instances.

    Attributes
    ----------
    instances
        Those that the library did not have.
    solutions, bounds
        Those whose cost or bound is better than the library's.
    mended
        Those whose solution or certificate the library named and did not have whole.
    left_out
        Documents and instances that would have been added, and why they are not.
    """

    instances: list[str] = field(default_factory=list)
    solutions: list[str] = field(default_factory=list)
    bounds: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """Return what was added as sentences."""
        return [
            f"{count(len(self.instances), 'instance')} added; "
            f"{count(len(self.solutions), 'solution')} and {count(len(self.bounds), 'bound')} "
            "better than the library's",
            *(f"mended: {what}" for what in self.mended),
            *(f"left out: {what}: {why}" for what, why in self.left_out.items()),
        ]


@dataclass(frozen=True)
class _Sort:
    """A sort of documents: folder, fields of hash and value, sign of the latter, and checker."""

    folder: str
    hash_field: str
    field: str
    sign: int
    check: Callable[[dict[str, Any], dict[str, Any]], Any]


SOLUTIONS = _Sort("solutions", "solution_sha256", "objective", 1, checker.check_solution)
CERTIFICATES = _Sort("certificates", "certificate_sha256", "bound", -1, checker.check_certificate)


def add_results(library: Library, directory: Path, *, is_trial: bool = False) -> Added:
    """Add the solutions and certificates of a results folder that are better than the library's.

    The checker sees each of them first. After an error, nothing is added; and whenever the process
    is killed, the library has all documents that its entries name.
    """
    store = ResultStore.open(directory)
    with locked(library.directory):
        adding = _Adding(library, store)
        for sort in (SOLUTIONS, CERTIFICATES):
            for digest, stated in _stated(directory / sort.folder, sort).items():
                adding.consider(sort, digest, stated)
        if not is_trial:
            adding.write()
    return adding.added


def _stated(folder: Path, sort: _Sort) -> dict[str, list[tuple[int, str, str]]]:
    """Return signed value, hash and payload's hash of all documents, by instance."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for path in sorted(folder.glob("*.json")):
        document = read_document(folder, path.stem) or {}
        about, value = document.get("instance_sha256"), document.get(sort.field)
        payload = document.get("payload_sha256", "")
        if isinstance(about, str) and isinstance(value, int) and isinstance(payload, str):
            found.setdefault(about, []).append((sort.sign * value, path.stem, payload))
    return found


class _Adding:
    """Collects what the documents of a results folder change in the library."""

    def __init__(self, library: Library, store: ResultStore) -> None:
        self._library, self._store = library, store
        self._entries = {one.instance_sha256: one for one in library.entries()}
        self._changed: set[str] = set()
        self.added = Added()

    def consider(self, sort: _Sort, sha256: str, stated: list[tuple[int, str, str]]) -> None:
        """Take the best document about an instance that is accepted, if the known one is worse."""
        entry = self._entries.get(sha256) or self._new_entry(sha256)
        if entry is None:
            return
        known: int | None = getattr(entry, sort.field)
        named = getattr(entry, sort.hash_field)
        is_broken = known is not None and not self._has_whole(entry, sort)
        # The one that the entry names comes first among equally good ones.
        for signed, digest, payload in sorted(stated, key=lambda one: (one[0], one[1] != named)):
            if known is not None and not is_broken and signed >= sort.sign * known:
                return
            found = self._accepted(sort, entry, digest, payload)
            if found is not None:
                break
        else:
            return
        better = entry if digest == named else replace(entry, **found)
        if better.objective is not None and better.bound and better.objective < better.bound:
            raise StoreError(
                f"instance {entry.label}: a cost of {better.solution_words} is below a bound of "
                f"{better.bound_words}; one of them is wrong. Nothing is added."
            )
        if sha256 not in self._entries:
            self.added.instances.append(entry.label)
        if is_broken:
            self.added.mended.append(f"{entry.label}, whose file in {sort.folder}/ was not whole")
        else:
            listed = self.added.solutions if sort is SOLUTIONS else self.added.bounds
            listed.append(entry.label)
        self._entries[sha256] = better
        self._changed.add(sha256)

    def write(self) -> None:
        """Write documents, then the entries that name them; remove what nothing names any more."""
        root = self._library.directory
        try:
            remove_partial_files(root, of_living=True)
            for folder in FOLDERS:
                make_folder(root / folder)
            for sha256 in self._changed:
                for name in self._entries[sha256].files:
                    self._copy(self._store.directory / name, root / name)
            if self._changed:
                self._library.write_entries(self._entries.values())
            # With what killed writers have left.
            for path in self._library.unnamed(self._entries.values()):
                path.unlink()
        except OSError as error:
            raise StoreError(f"{root} cannot be written: {error}.") from error

    def _copy(self, source: Path, target: Path) -> None:
        """Copy a document that the results folder has, unless it is whole in the library."""
        if not source.exists() or (target.exists() and target.parent.name == "labels"):
            return
        content = read_regular(source)
        if not target.exists() or target.read_bytes() != content:
            write_durably(target, content)

    def _has_whole(self, entry: Entry, sort: _Sort) -> bool:
        """Whether the library has an entry's document of a sort, and what it is about."""
        root, named = self._library.directory, (sort.folder, "instances")
        try:
            for name in entry.files:
                if name.startswith(named) and name.endswith(".json"):
                    checker.read_document(root / name)
        except checker.Rejected:
            return False
        return (root / "labels" / f"{entry.instance_sha256}.json").exists()

    def _accepted(
        self, sort: _Sort, entry: Entry, digest: str, payload: str
    ) -> Mapping[str, Any] | None:
        """Return what an entry says of a document; None if the checker rejects it."""
        root, name = self._store.directory, f"{sort.folder}/{digest}.json"
        files = [name, *([f"{sort.folder}/{payload}.json.gz"] if payload else [])]
        most = self._library.most_certificate_bytes
        try:
            needed = sum((root / one).stat().st_size for one in files)
            if sort is CERTIFICATES and needed > most:
                self.added.left_out[name] = f"it has {needed:,} bytes; expected at most {most:,}"
                return None
            instance = checker.read_document(root / "instances" / f"{entry.instance_sha256}.json")
            document = checker.read_document(root / name)
            start = time.monotonic()
            sort.check(instance, document)
            seconds = round(time.monotonic() - start, 1)
        except (OSError, ValueError, checker.Rejected) as error:
            self.added.left_out[name] = f"the checker rejects it: {error}"
            return None
        found = {
            sort.field: document[sort.field],
            sort.hash_field: digest,
            f"{sort.field}_method": document.get("producer") or GIVEN,
            f"{sort.field}_date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d"),
        }
        if sort is CERTIFICATES:
            found |= {"payload_sha256": payload, "check_seconds": seconds}
        return found

    def _new_entry(self, sha256: str) -> Entry | None:
        """Return an entry without results; None if the instance cannot be in the library."""
        try:
            document = read_document(self._store.instances, sha256)
            if document is None:
                raise StoreError("the folder lacks the instance.")
            problem = find("problem", document.get("problem"), problems())
            instance = problem.instance_from_json(document)
            labels = read_labels(
                self._store.labels / f"{sha256}.json",
                problem=problem.name,
                instance_sha256=sha256,
                nodes=instance.nodes,
            )
        except BoundmarkError as error:
            self.added.left_out[f"instance {sha256[:12]}"] = str(error)
            return None
        dataset, _, member = labels.source.partition("/")
        if dataset not in self._library.datasets:
            self.added.left_out[labels.source] = (
                f"{FACTS} does not list {dataset or 'its data set'}"
            )
            return None
        return Entry(
            problem=problem.name,
            dataset=dataset,
            instance=member,
            device=labels.device,
            parameters=dict(sorted(instance.parameters.items())),
            instance_sha256=sha256,
            nodes=instance.nodes,
            edges=instance.edges,
        )
