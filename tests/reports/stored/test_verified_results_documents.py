"""Costs and bounds count only with the documents that they rest on."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import add_instance, append, hash_of

from boundmark.reports.report import write_report
from boundmark.reports.stored.store import LARGEST_INLINE_PAYLOAD, ResultStore, write_document
from boundmark.reports.stored.verified_results import supported_results

pytestmark = pytest.mark.usefixtures("all_undrawn")

FOUND = {"objective": 5, "bound_certified": 4, "bound_kind": "fractional-load/1"}
TRACE = [
    {"seconds": 0.1, "kind": "solution", "value": 5.0},
    {"seconds": 0.2, "kind": "bound_certified", "value": 4.0},
]


@pytest.fixture
def store(tmp_path: Path, make_row: Any) -> ResultStore:
    """Return a folder with one supported row."""
    store = ResultStore.create_or_open(tmp_path)
    append(store, make_row("honest", **FOUND), TRACE)
    return store


def test_what_has_documents_counts(store: ResultStore) -> None:
    """Nothing is left out of an honest folder."""
    supported = supported_results(store)
    assert supported.unsupported.empty
    assert supported.results["objective"].tolist() == [5]
    assert len(supported.traces) == 2


def _nothing(store: ResultStore, row: dict[str, Any]) -> None:
    store.append(row, TRACE)


def _no_file(store: ResultStore, row: dict[str, Any]) -> None:
    store.append(row | dict.fromkeys(("solution_sha256", "certificate_sha256"), "0" * 64), TRACE)


def _path(store: ResultStore, row: dict[str, Any]) -> None:
    store.append(row | dict.fromkeys(("solution_sha256", "certificate_sha256"), "../x"), TRACE)


def _another_instance(store: ResultStore, row: dict[str, Any]) -> None:
    other = {"instance_sha256": hash_of("another")}
    solution = write_document(store.solutions, other | {"objective": 5})
    certificate = write_document(store.certificates, other | {"bound": 4})
    store.append(row | {"solution_sha256": solution, "certificate_sha256": certificate}, TRACE)


def _another_value(store: ResultStore, row: dict[str, Any]) -> None:
    same = {"instance_sha256": row["instance_sha256"]}
    solution = write_document(store.solutions, same | {"objective": 6})
    certificate = write_document(store.certificates, same | {"bound": 3})
    store.append(row | {"solution_sha256": solution, "certificate_sha256": certificate}, TRACE)


def _changed(store: ResultStore, row: dict[str, Any]) -> None:
    append(store, row | {"objective": 500, "bound_certified": 400}, TRACE)
    for path in (*store.solutions.iterdir(), *store.certificates.iterdir()):
        path.write_text(path.read_text().replace("00", "01"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_nothing, "is no hash"),
        (_path, "is no hash"),
        (_no_file, "is not in the folder"),
        (_another_instance, "is about another instance"),
        (_another_value, "states another value"),
        (_changed, "was changed"),
    ],
)
def test_what_no_document_supports_is_left_out(
    spoil: Callable[[ResultStore, dict[str, Any]], None],
    reason: str,
    store: ResultStore,
    make_row: Any,
) -> None:
    """The report goes on without the value, says so, and certifies nothing by it."""
    row = make_row("false", instance="b", **FOUND)
    add_instance(store, row["instance_sha256"])
    spoil(store, row)
    supported = supported_results(store)
    left_out = supported.unsupported[supported.unsupported["task_id"] == "false"]
    assert left_out["column"].tolist() == ["objective", "bound_certified"]
    assert left_out["reason"].str.contains(reason).all()
    assert (supported.traces["task_id"] != "false").all()
    write_report(store.directory)
    assert "2 stored values left out" in (store.directory / "report.md").read_text()
    certified = pd.read_parquet(store.directory / "tables" / "certified.parquet")
    row = certified.set_index("instance").loc["b"]
    assert row[["objective", "bound", "gap"]].isna().all()
    assert not row["optimal"]


@pytest.mark.parametrize("damage", [b"", b"?", gzip.compress(b"[]", mtime=0)])
def test_a_payload_that_was_changed_supports_nothing(
    store: ResultStore, make_row: Any, damage: bytes
) -> None:
    """Large payloads lie in files of their own, which are read and hashed too."""
    row = make_row("large", **FOUND)
    about = {"instance_sha256": row["instance_sha256"]}
    row["solution_sha256"] = write_document(store.solutions, about | {"objective": 5})
    payload = {"bound": 4, "payload": [*range(LARGEST_INLINE_PAYLOAD // 4)]}
    row["certificate_sha256"] = write_document(store.certificates, about | payload)
    store.append(row, TRACE)
    assert supported_results(store).unsupported.empty
    (path,) = store.certificates.glob("*.gz")
    path.write_bytes(damage)
    (wrong,) = supported_results(store).unsupported.to_dict("records")
    assert (wrong["task_id"], wrong["column"]) == ("large", "bound_certified")
    assert f"{path.name} was changed" in wrong["reason"]


def test_a_missing_instance_supports_nothing(store: ResultStore) -> None:
    """A cost is a cost of something."""
    for path in store.instances.iterdir():
        path.unlink()
    assert len(supported_results(store).unsupported) == 2
