"""The commands `merge` and `query` as they are typed."""

import csv
import io
import json
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


def test_query_prints_a_table_csv_or_json(tmp_path: Path) -> None:
    """Missing values are empty, null, or empty."""
    pytest.importorskip("duckdb")
    folder(tmp_path, 5)
    sql = ["query", "select method, objective, seed from results", str(tmp_path)]
    table, text, values = (
        CliRunner().invoke(main, [*sql, *form]).stdout for form in ([], ["--csv"], ["--json"])
    )
    assert [line.split() for line in table.splitlines()] == [
        ["method", "objective", "seed"],
        ["m", "5"],
    ]
    assert list(csv.reader(io.StringIO(text))) == [["method", "objective", "seed"], ["m", "5", ""]]
    assert json.loads(values) == [{"method": "m", "objective": 5, "seed": None}]


def test_query_prints_in_one_form(tmp_path: Path) -> None:
    """Not in the last of two that are asked for."""
    found = CliRunner().invoke(main, ["query", "select 1", str(tmp_path), "--csv", "--json"])
    assert found.exit_code == 2
    assert "--json and --csv are given; expected one of them" in found.output


def test_a_failed_query_names_tables_that_come_near(tmp_path: Path) -> None:
    """Few of them, and how to list all."""
    pytest.importorskip("duckdb")
    folder(tmp_path, 5)
    found = CliRunner().invoke(main, ["query", "select * from result", str(tmp_path)])
    assert found.exit_code == 2
    assert "Tables with such names are results. SHOW TABLES lists all 3 tables" in found.output
    assert "traces" not in found.output


def test_draws_need_noise(tmp_path: Path) -> None:
    """A report does not pass over the number of draws in silence."""
    found = CliRunner().invoke(main, ["report", str(tmp_path), "--draws", "5"])
    assert found.exit_code == 2
    assert "--draws is given without --noise; expected both" in found.output


def test_query_counts_what_it_leaves_out(tmp_path: Path) -> None:
    """On the error output, so that programs that read the answer are not disturbed."""
    pytest.importorskip("duckdb")
    store = folder(tmp_path, 5)
    for path in store.solutions.iterdir():
        path.unlink()
    sql = ["query", "select objective from results", str(tmp_path), "--json"]
    found = CliRunner().invoke(main, sql)
    assert json.loads(found.stdout) == [{"objective": None}]
    assert "\n0 certified bounds and 1 verified cost left out" in found.stderr
