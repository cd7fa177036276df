"""Lets the checker see every document of the library, and compares the entries with them."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.library.folder import FACTS, Entry, Library
from boundmark.benchmarks.running.folder_verification.documents import (
    Documents,
    Verdict,
    verify_documents,
)
from boundmark.benchmarks.running.folder_verification.folder import check_labels, remember
from boundmark.benchmarks.solving.answer import GIVEN
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.labels import read_labels
from boundmark.reports.stored.accepted import Accepted


def check_library(directory: Path, accepted: Accepted) -> Iterator[Verdict]:
    """Yield a verdict on every document, every entry, and every file that no entry names.

    An entry is accepted if all that it says of its instance, solution and certificate follows from
    accepted documents.
    """
    library = Library.open(directory)
    entries = library.entries()
    documents = Documents()
    yield from verify_documents(directory, documents)
    remember(documents, accepted)
    yield from check_labels(directory / "labels", documents.instances)
    seen: set[str] = set()
    for entry in entries:
        faults = [*_entry_faults(library, entry, documents)]
        if entry.instance_sha256 in seen:
            faults.append("an entry above is about the same instance")
        seen.add(entry.instance_sha256)
        yield Verdict(f"{directory}: {entry.label}", "; ".join(faults) or None)
    for path in library.unnamed(entries):
        yield Verdict(str(path), "no entry names it; `boundmark library add` removes it")


def sources_of(entries: list[Entry]) -> pd.DataFrame:
    """Return where instances come from, as rows of results say it."""
    return pd.DataFrame(
        [asdict(one) | {"instance_params": json.dumps(one.parameters)} for one in entries]
    )


def _entry_faults(library: Library, entry: Entry, documents: Documents) -> Iterator[str]:
    """Yield a clause for each field of an entry that does not follow from its documents."""
    sha256 = entry.instance_sha256
    instance = documents.instances.accepted.get(sha256)
    if instance is None:
        yield f"its instance cannot be used: {documents.instances.fault(sha256)}"
        return
    if entry.dataset not in library.datasets:
        yield f"{FACTS} does not list {entry.dataset!r:.70}"
    found: dict[str, Any] = {
        "problem": instance.problem,
        # An entry may name more of them, so that its instance can be made again.
        "parameters": {**entry.parameters, **instance.parameters},
        "nodes": instance.nodes,
        "edges": instance.edges,
    }
    path = library.directory / "labels" / f"{sha256}.json"
    try:
        labels = read_labels(
            path, problem=instance.problem, instance_sha256=sha256, nodes=instance.nodes
        )
        dataset, _, member = labels.source.partition("/")
        found |= {"dataset": dataset, "instance": member, "device": labels.device}
    except InvalidInputError as error:
        yield str(error)
    for digest, shelf, value, method in (
        (entry.solution_sha256, documents.solutions, "objective", "objective_method"),
        (entry.certificate_sha256, documents.certificates, "bound", "bound_method"),
    ):
        known = shelf.accepted.get(digest)
        if not digest:
            found |= {value: None, method: ""}
        elif known is None:
            yield f"its {value} has no document: {shelf.fault(digest)}"
        elif known.instance_sha256 != sha256:
            yield f"the document of its {value} is about another instance"
        else:
            found |= {value: known.value, method: known.producer or GIVEN}
    for name, expected in found.items():
        stated = getattr(entry, name)
        if stated != expected:
            yield f"{name} is {stated!r:.70}; by its documents, it is {expected!r:.70}"
    if entry.objective is not None and entry.bound is not None and entry.objective < entry.bound:
        yield "its objective is below its bound"
