"""Bounds that a results folder already has, checked again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boundmark.bounds import checker
from boundmark.problems.errors import StoreError
from boundmark.problems.problem import Instance
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import best_rows


@dataclass(frozen=True)
class StoredBound:
    """A certified bound in ticks, its certificate, and the method that found it."""

    bound: int
    certificate: dict[str, Any]
    method: str


def best_stored_bound(directory: Path, instance: Instance) -> StoredBound | None:
    """Return the best bound on an instance that a results folder has and the checker accepts.

    Raises
    ------
    StoreError
        If the folder holds no results, or its best certificate for the instance is rejected.
    """
    store = ResultStore.open(directory)
    rows = store.results()
    own = rows[rows["instance_sha256"] == instance.sha256]
    found = best_rows(own, "bound_certified", highest=True)
    if found.empty:
        return None
    best = found.iloc[0]
    path = store.certificates / f"{best['certificate_sha256']}.json"
    try:
        certificate = checker.read_document(path)
        checker.check_certificate(instance.to_json(), certificate)
    except checker.Rejected as error:
        raise StoreError(f"{path} is rejected by the checker: {error}.") from error
    if certificate["bound"] != int(best["bound_certified"]):
        raise StoreError(f"{path} states another bound than its row.")
    return StoredBound(int(best["bound_certified"]), certificate, str(best["method"]))
