"""Rows made by hand, stored together with stand-ins for the documents that they rest on."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from boundmark.reports.stored import verified_results
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore, write_document
from boundmark.reports.stored.verification import Pair, Verdict

_NAMES: dict[str, str] = {}


def hash_of(name: str) -> str:
    """Return the hash of a made-up instance, whose content is its name."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    _NAMES[digest] = name
    return digest


def add_instance(store: ResultStore, sha256: str) -> None:
    """Store the instance of a made-up hash; others are somebody else's to store."""
    if sha256 in _NAMES:
        write_durably(store.instances / f"{sha256}.json", _NAMES[sha256].encode())


def append(store: ResultStore, row: Mapping[str, Any], trace: Sequence[Mapping[str, Any]]) -> None:
    """Store a row, its instance, and documents that state its cost and bound if it names none."""
    stored = dict(row)
    sha256 = stored["instance_sha256"]
    add_instance(store, sha256)
    for column, hash_column, folder, field in (
        ("objective", "solution_sha256", store.solutions, "objective"),
        ("bound_certified", "certificate_sha256", store.certificates, "bound"),
    ):
        value = stored.get(column)
        if value is not None and stored.get(hash_column) is None:
            document = {"instance_sha256": sha256, field: value}
            stored[hash_column] = write_document(folder, document)
    store.append(stored, trace)


@contextmanager
def made_up_documents_accepted() -> Iterator[None]:
    """Let reports accept every document without asking the checker, and remember none."""

    def accept(directory: Path, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Verdict]]:
        return ((pair, Verdict(None, False)) for pair in pairs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verified_results, "verify_documents", accept)
        yield
