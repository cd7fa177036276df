"""Checks the library part by part, and continues where an earlier check was stopped.

What it accepts is remembered as for results folders, see `reports.stored.accepted`: by the
content of documents and that of the checker.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.execution.task import producer_of
from boundmark.benchmarks.folder_verification import verify_stated_sources
from boundmark.benchmarks.library.entry import Entry
from boundmark.benchmarks.library.folder import FACTS, Library, unpack_find
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.json_documents import json_object
from boundmark.problems.labels import Labels
from boundmark.reports.stored.accepted import Accepted
from boundmark.reports.stored.verification import Pair, verify_documents
from boundmark.reports.text import count, size

# Entries that are unpacked at a time; verdicts are stored after each batch.
BATCH = 32

# Beside the entries.
OTHER_FILES = (FACTS, "README.md")


@dataclass(frozen=True)
class Part:
    """One of several parts of the library, each of about as many instances.

    Attributes
    ----------
    number, of
        The first part is 1.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parsed(cls, text: str) -> "Part":
        """Read a part such as ``3/7``.

        Raises
        ------
        InvalidInputError
            If it is none.
        """
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise InvalidInputError(f"part is {text!r}; expected one such as 3/7.")
        return cls(int(number), int(of))

    def has(self, entry: Entry) -> bool:
        """Whether an entry is in this part."""
        return int(entry.instance_sha256[:8], 16) % self.of == self.number - 1


@dataclass
class Verified:
    """Counts of entries and documents that were checked.

    Attributes
    ----------
    instances, optimal
        Entries of the part, and those whose bound proves their solution optimal.
    solutions, certificates
        Documents that are accepted.
    recipes
        Better bounds than those, with certificates that the library does not keep.
    remembered
        Documents of the accepted ones that the same checker accepted earlier.
    rejected
        What is wrong, and why.
    bytes, most_bytes
        Size of the whole library, and how large it may be.
    seconds
        Wall time.
    """

    most_bytes: int
    instances: int = 0
    optimal: int = 0
    solutions: int = 0
    certificates: int = 0
    recipes: int = 0
    remembered: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)
    bytes: int = 0
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """A sentence with the counts, without rejections."""
        by_recipe = f"; {count(self.recipes, 'better bound')} by recipe, not checked"
        return (
            f"{count(self.instances, 'instance')}, {self.optimal:,} proven optimal: "
            f"{count(self.solutions, 'solution')} and {count(self.certificates, 'certificate')} "
            f"accepted ({self.remembered:,} of them earlier by the same checker), "
            f"{len(self.rejected) or 'none'} rejected{by_recipe * bool(self.recipes)}; "
            f"{size(self.bytes)} of {size(self.most_bytes)}; {self.seconds:.1f} s"
        )


def verify_library(
    library: Library,
    part: Part = Part(),
    *,
    are_remembered: bool = True,
    with_sources: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, planned: None,
) -> Verified:
    """Check the entries of a part, their files and documents, and the library's size.

    An entry is accepted if its fields follow from its documents, and the checker accepts these.

    Parameters
    ----------
    are_remembered
        Whether what the same checker has accepted earlier counts.
    with_sources
        Whether every instance is made again, from its data set, device and parameters.
    on_progress
        Called with the numbers of entries that are done and that are to be done.

    Raises
    ------
    StoreError
        If the checker cannot be started.
    """
    start = time.monotonic()
    seen = Verified(library.facts.most_bytes, bytes=library.size)
    if seen.bytes > seen.most_bytes:
        seen.rejected.append((str(library.directory), f"it has {size(seen.bytes)}, too much"))
    entries = [entry for entry in _readable(library, seen) if part.has(entry)]
    seen.instances = len(entries)
    seen.recipes = sum(entry.beyond is not None for entry in entries)
    seen.optimal = sum(entry.status == "optimal" for entry in entries)
    accepted = Accepted() if are_remembered else None
    on_progress(0, len(entries))
    for at in range(0, len(entries), BATCH):
        batch = entries[at : at + BATCH]
        _check_batch(library, batch, seen, accepted)
        on_progress(at + len(batch), len(entries))
    if with_sources and entries:
        for verdict in verify_stated_sources(str(library.directory), _sources(entries)):
            if verdict.reason is not None:
                seen.rejected.append((verdict.subject, verdict.reason))
    seen.seconds = time.monotonic() - start
    return seen


def _readable(library: Library, seen: Verified) -> Iterator[Entry]:
    """Yield the entries that can be read, and reject whatever else lies in the folder."""
    owners: dict[str, str] = {}
    known = {library.directory / name for name in OTHER_FILES}
    for path in library.paths():
        known |= {path, path.with_suffix(".jsonl.gz")}
        try:
            entry = library.read(path)
        except InvalidInputError as error:
            seen.rejected.append((str(path), str(error).removeprefix(f"{path}: ")))
            continue
        if entry.instance_sha256 in owners:
            reason = f"its instance is that of {owners[entry.instance_sha256]}"
            seen.rejected.append((str(path), reason))
            continue
        owners[entry.instance_sha256] = entry.name
        yield entry
    for path in sorted(library.directory.rglob("*")):
        if path.is_file() and path not in known:
            seen.rejected.append((str(path), "it belongs to no entry"))


def _check_batch(
    library: Library, entries: Sequence[Entry], seen: Verified, accepted: Accepted | None
) -> None:
    """Check some entries: first that fields and documents agree, then what documents prove."""
    unknown: list[Pair] = []
    subjects: dict[Pair, Entry] = {}
    with tempfile.TemporaryDirectory(prefix="boundmark-library-") as name:
        folder = Path(name)
        for sort in ("instances", "solutions", "certificates"):
            (folder / sort).mkdir()
        for entry in entries:
            try:
                documents = library.documents(entry)
                _check_fields(library, entry, documents)
            except BoundmarkError as error:
                subject = str(library.path_of(entry))
                seen.rejected.append((subject, str(error).removeprefix(f"{subject}: ")))
                continue
            (folder / "instances" / f"{entry.instance_sha256}.json").write_bytes(
                documents[entry.instance_sha256]
            )
            for sort, find in (("solutions", entry.solution), ("certificates", entry.bound)):
                if find is None:
                    continue
                pair = (entry.instance_sha256, f"{sort}/{find.sha256}.json")
                if accepted is not None and accepted.has(*pair):
                    _count(seen, pair)
                    seen.remembered += 1
                    continue
                unpack_find(find, documents, folder / sort)
                unknown.append(pair)
                subjects[pair] = entry
        for pair, verdict in verify_documents(folder, unknown):
            if verdict.reason is not None:
                reason = f"the checker rejects {pair[1]}: {verdict.reason}"
                seen.rejected.append((str(library.path_of(subjects[pair])), reason))
                continue
            _count(seen, pair)
            if accepted is not None and verdict.is_lasting:
                accepted.add(*pair)
    if accepted is not None:
        accepted.save()


def _count(seen: Verified, pair: Pair) -> None:
    if pair[1].startswith("solutions/"):
        seen.solutions += 1
    else:
        seen.certificates += 1


def _check_fields(library: Library, entry: Entry, documents: dict[str, bytes]) -> None:
    """Raise `InvalidInputError` unless an entry says what its documents and the facts say."""
    facts = library.facts
    if entry.dataset not in facts.datasets:
        raise InvalidInputError(f"{FACTS} does not list its data set, {entry.dataset!r}.")
    found = [find for find in (entry.solution, entry.bound, entry.beyond) if find is not None]
    for name in {*(find.by for find in found), *(past.by for past in entry.history)}:
        if name not in facts.contributors:
            raise InvalidInputError(f"{FACTS} has no consent of {name!r} to {facts.licence}.")
    for find, field_name in ((entry.solution, "objective"), (entry.bound, "bound")):
        if find is None:
            continue
        document = _parsed(documents[find.sha256])
        expected = {field_name: find.value, "instance_sha256": entry.instance_sha256}
        expected["producer"] = producer_of(find.method, find.method_version)
        if find.payload_sha256:
            expected["payload_sha256"] = find.payload_sha256
        for name, value in expected.items():
            if document.get(name) != value:
                raise InvalidInputError(
                    f"{name} of document {find.sha256[:12]} is not {value!r}, as the entry says."
                )
    instance = _parsed(documents[entry.instance_sha256])
    if instance.get("problem") != entry.problem:
        raise InvalidInputError(f"its instance is not of problem {entry.problem!r}.")
    if entry.labels_sha256:
        Labels.from_json(
            _parsed(documents[entry.labels_sha256]),
            problem=entry.problem,
            instance_sha256=entry.instance_sha256,
            nodes=entry.nodes,
        )


def _parsed(content: bytes) -> Any:
    with naming("a document"):
        return json_object(content)


def _sources(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return where instances come from, as rows of results say it."""
    return pd.DataFrame(
        {
            "problem": [entry.problem for entry in entries],
            "dataset": [entry.dataset for entry in entries],
            "instance": [entry.instance for entry in entries],
            "device": [entry.device for entry in entries],
            "instance_params": [json.dumps(dict(entry.parameters)) for entry in entries],
            "instance_sha256": [entry.instance_sha256 for entry in entries],
        }
    )
