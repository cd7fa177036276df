"""Results folders made one."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from documented import append

from boundmark.problems.errors import StoreError
from boundmark.problems.json_documents import sha256_hex
from boundmark.reports.merging import merge_folders
from boundmark.reports.stored.store import LARGEST_INLINE_PAYLOAD, ResultStore, write_document
from boundmark.reports.stored.verified_results import supported_results

LATER = {"started_at": "2026-01-02T04:00:00+00:00", "host": "there"}
TRACE = [{"seconds": 0.1, "kind": "solution", "value": 5.0}]


@pytest.fixture
def hosts(tmp_path: Path) -> tuple[ResultStore, ResultStore]:
    """Return two empty folders."""
    return ResultStore.create_or_open(tmp_path / "a"), ResultStore.create_or_open(tmp_path / "b")


def merge(hosts: tuple[ResultStore, ResultStore]) -> tuple[Any, ResultStore]:
    """Merge the folders, and return what became of them and the new folder."""
    target = hosts[0].directory.with_name("c")
    merged = merge_folders([store.directory for store in hosts], target)
    return merged, ResultStore.open(target)


def test_all_tasks_are_there_with_their_documents(hosts: Any, make_row: Any) -> None:
    """Rows, traces, documents, environments and reference times; all of it is supported."""
    for store, name in zip(hosts, "xy", strict=True):
        append(store, make_row(name, instance=name, objective=5), TRACE)
        store.machine.mkdir()
        (store.machine / "1.json").write_text(f"[{0.5 if name == 'x' else 0.7}]")
        (store.environments / f"{name}.json").write_text("{}")
    merged, found = merge(hosts)
    assert (merged.tasks, merged.duplicates, merged.conflicts) == (2, 0, ())
    supported = supported_results(found)
    assert supported.results["task_id"].tolist() == ["x", "y"]
    assert supported.unsupported.empty
    assert sorted(supported.traces["task_id"]) == ["x", "y"]
    assert {path.name for path in found.environments.iterdir()} == {"x.json", "y.json"}
    assert {path.read_text() for path in found.machine.iterdir()} == {"[0.5]", "[0.7]"}


def test_a_task_that_found_the_same_twice_is_a_duplicate(hosts: Any, make_row: Any) -> None:
    """Times and hosts may differ; the latest row is kept, with its trace alone."""
    append(hosts[0], make_row("x", objective=5), TRACE)
    append(hosts[1], make_row("x", objective=5, wall_seconds=9.0, **LATER), TRACE)
    merged, found = merge(hosts)
    assert (merged.tasks, merged.duplicates, merged.conflicts) == (1, 1, ())
    assert found.results()["host"].tolist() == ["there"]
    assert len(found.traces()) == 1


@pytest.mark.parametrize(
    ("first", "second", "kept", "told"),
    [
        ({"objective": 5}, {"objective": 6}, 6, "kept ok, cost 6, bound – of there"),
        ({"objective": 5}, {"status": "timeout"}, 5, "not timeout, cost –, bound – of there"),
        ({"objective": 5}, {"objective": 5, "status": "oom"}, 5, "not oom, cost 5"),
        ({"bound_claimed": 1.5}, {"bound_claimed": 1.6}, None, "claim 1.6 of there"),
    ],
)
def test_rows_that_differ_are_named(
    hosts: Any, make_row: Any, first: Any, second: Any, kept: int | None, told: str
) -> None:
    """What ended ok is kept, and of that the latest; the other row is told in words."""
    append(hosts[0], make_row("x", **first), [])
    append(hosts[1], make_row("x", **LATER, **second), [])
    merged, found = merge(hosts)
    assert merged.duplicates == 0
    (conflict,) = merged.conflicts
    assert told in conflict.sentence
    assert "pipeline zoo/a" in conflict.sentence
    row = found.results().iloc[0]
    assert row["objective"] == kept if kept is not None else row["bound_claimed"] == 1.6


def test_a_row_without_its_document_gives_way(hosts: Any, make_row: Any) -> None:
    """The later row's solution was changed: the earlier one counts, and the file is left."""
    append(hosts[0], make_row("x", objective=5), [])
    append(hosts[1], make_row("x", objective=6, **LATER), [])
    changed = next(hosts[1].solutions.iterdir())
    changed.write_text("{}")
    merged, found = merge(hosts)
    assert found.results()["objective"].tolist() == [5]
    assert [Path(name).name for name in merged.left_files] == [changed.name]
    assert merged.unsupported.empty


def test_large_payloads_come_along(hosts: Any, make_row: Any) -> None:
    """The compressed file too; a damaged one stays behind, and the bound is without support."""
    row = make_row("x", bound_certified=4, method_kind="bound")
    payload = "p" * (LARGEST_INLINE_PAYLOAD + 1)
    document = {"instance_sha256": row["instance_sha256"], "bound": 4, "payload": payload}
    digest = write_document(hosts[0].certificates, document)
    append(hosts[0], row | {"certificate_sha256": digest}, [])
    append(hosts[1], make_row("y", objective=5), [])
    merged, found = merge(hosts)
    assert merged.unsupported.empty
    packed = next(found.certificates.glob("*.json.gz"))
    assert sha256_hex(gzip.decompress(packed.read_bytes()).decode()) == packed.name.split(".")[0]
    packed.write_bytes(packed.read_bytes()[:-9])
    assert "was changed" in supported_results(found).unsupported["reason"].item()
    packed.unlink()
    assert "is not in the folder" in supported_results(found).unsupported["reason"].item()


def _cost_below_bound(hosts: Any, make_row: Any) -> None:
    append(hosts[0], make_row("x", objective=3), [])
    append(
        hosts[1],
        make_row("y", method="fractional-load", method_kind="bound", bound_certified=4),
        [],
    )


def _nothing(hosts: Any, make_row: Any) -> None:
    pass


def _no_folder(hosts: Any, make_row: Any) -> None:
    (hosts[1].directory / "results").rmdir()


def _garbage(hosts: Any, make_row: Any) -> None:
    (hosts[1].directory / "results" / "x.parquet").write_bytes(b"PAR1")


def _in_use(hosts: Any, make_row: Any) -> None:
    target = hosts[0].directory.with_name("c")
    target.mkdir()
    (target / "file").touch()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_cost_below_bound, r"task x \(uniform\).*of 3, below.*of 4 of task y \(fractional-load\)"),
        (_nothing, "hold no results; expected at least one"),
        (_no_folder, "is not a results folder"),
        (_garbage, "cannot be read as Parquet"),
        (_in_use, "is in use; expected a folder that is empty"),
    ],
)
def test_what_cannot_be_merged(hosts: Any, make_row: Any, spoil: Any, told: str) -> None:
    """The reason is told, and no folder is left."""
    spoil(hosts, make_row)
    target = hosts[0].directory.with_name("c")
    before = sorted(target.parent.iterdir())
    with pytest.raises(StoreError, match=told):
        merge(hosts)
    assert sorted(target.parent.iterdir()) == before


def test_the_folder_to_make_needs_a_name(hosts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory cannot be replaced by another one of the same name."""
    empty = hosts[0].directory.with_name("empty")
    empty.mkdir()
    monkeypatch.chdir(empty)
    with pytest.raises(StoreError, match=r"\. cannot be made; expected a folder with a name"):
        merge_folders([store.directory for store in hosts], Path())


def test_a_folder_is_not_merged_with_itself(hosts: Any) -> None:
    """By whatever path it is given."""
    path = hosts[0].directory
    with pytest.raises(StoreError, match="given twice"):
        merge_folders([path, path / ".." / path.name], path.with_name("c"))
