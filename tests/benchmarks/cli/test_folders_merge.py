"""The command `merge` as it is typed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from documented import append, hash_of, made_up_documents_accepted

from boundmark.benchmarks.cli.group import main
from boundmark.reports.stored.store import ResultStore


@pytest.fixture(autouse=True, scope="module")
def _stand_ins_are_accepted() -> Iterator[None]:
    with made_up_documents_accepted():
        yield


def folder(directory: Path, cost: int, status: str = "ok") -> ResultStore:
    """Return a folder with one task."""
    store = ResultStore.create_or_open(directory)
    row = {
        "task_id": "t", "problem": "p", "dataset": "d", "instance": "i", "method": "m",
        "method_kind": "heuristic", "instance_sha256": hash_of("i"), "instance_params": "{}",
        "params": "{}", "status": status, "objective": cost, "host": directory.name,
        "started_at": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip
    append(store, row, [])
    return store


def test_merge_names_what_it_did_not_keep(tmp_path: Path) -> None:
    """In one line, after what became of the folders."""
    folder(tmp_path / "a", 5)
    folder(tmp_path / "b", 6, "timeout")
    out = tmp_path / "c"
    found = CliRunner().invoke(
        main, ["merge", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(out)]
    )
    first, second = found.output.splitlines()
    assert found.exit_code == 0
    assert first == f"{out}: 1 task of 2 folders, 0 duplicates, 1 conflict"
    assert second.startswith("conflict: p d/i {}, m (task t): kept ok, cost 5, bound – of a in")
    assert ResultStore.open(out).results()["objective"].tolist() == [5]


def test_merge_refuses_in_a_sentence(tmp_path: Path) -> None:
    """With the exit code of all such errors."""
    folder(tmp_path / "a", 5)
    found = CliRunner().invoke(main, ["merge", str(tmp_path / "a"), str(tmp_path), "--out", "x"])
    assert found.exit_code == 2
    assert "is not a results folder" in found.output
