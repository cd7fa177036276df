"""SQL over a results folder."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from documented import append

from boundmark.problems.errors import BoundmarkError, StoreError
from boundmark.reports.query import query_folder
from boundmark.reports.report import write_report
from boundmark.reports.stored.store import ResultStore

pytestmark = pytest.mark.usefixtures("all_undrawn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, synthetic: Any) -> Path:
    """Return a folder with a report, of which one task was stored again."""
    pytest.importorskip("duckdb")
    store = ResultStore.create_or_open(tmp_path_factory.mktemp("queried"))
    run = synthetic(members=1, datasets=("zoo",), failing=0.0)
    for row, trace in run:
        append(store, row, trace)
    store.compact()
    append(store, run[0][0] | {"status": "oom"}, [])
    write_report(store.directory, ["md"])
    return store.directory


def test_tables_are_those_of_the_folder(folder: Path) -> None:
    """A task counts once, as it was stored last; reports' tables are there by their names."""
    results = ResultStore.open(folder).results()
    answer = query_folder(folder, "select status, count(*) n from results group by 1 order by 2")
    assert answer.columns == ("status", "n")
    assert answer.rows == (("oom", 1), ("ok", len(results) - 1))
    known = query_folder(folder, "select objective from certified where param_k = 8").rows
    best = results[(results["instance_params"] == '{"k": 8}')]["objective"].min()
    assert known == ((best,),)
    names = {row[0] for row in query_folder(folder, "show tables").rows}
    assert {"results", "traces", "certified", "pipeline_gap_by_k"} <= names


def test_times_need_no_other_package(folder: Path) -> None:
    """They are in UTC."""
    (row,) = query_folder(folder, "select min(started_at) from results").rows
    assert str(row[0]) == "2026-01-02 03:04:05"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select * from certifed", "Did you mean .*certified"),
        ("selec", "syntax error"),
        (
            "select * from read_csv('/etc/passwd')",
            "calls 'read_csv' for a table, which is disabled",
        ),
        ("select * from '/etc/passwd'", "does not exist|disabled"),
        ("copy results to 'x.csv'", "type COPY, which is disabled"),
        ("install httpfs", "disabled"),
        ("", "the query is empty"),
        ("-- nothing", "the query is empty"),
    ],
)
def test_queries_that_fail(folder: Path, sql: str, told: str) -> None:
    """The reason is DuckDB's, with how to list tables."""
    with pytest.raises(StoreError, match=told) as caught:
        query_folder(folder, sql)
    if "disabled" not in told and "empty" not in told:
        assert "SHOW TABLES lists all" in str(caught.value)


LOGGING = "enable_logging('QueryLog', storage='file', storage_path='log')"


REFUSED = [
    f"call {LOGGING}",
    f"select * from {LOGGING}",
    f"select 1; call {LOGGING}",
    f"select 1 where 1 in (select 2 from {LOGGING})",
    f"with x as (from {LOGGING}) from x",
    f"from results, lateral (from system.main.{LOGGING})",
    "select * from \"ENABLE_LOGGING\"(storage='file', storage_path='log')",
    f"describe select * from {LOGGING}",
    f"summarize from {LOGGING}",
    f"explain analyze from {LOGGING}",
    f"pivot (from {LOGGING}) on x in (1) using count(*)",
    "pragma enable_profiling",
    "pragma table_info('results')",
    "from enable_profiling()",
    "set profiling_output = 'log'",
    "reset enable_external_access",
    "checkpoint",
    "from checkpoint()",
    "load httpfs",
    "attach 'log' as x",
    "detach memory",
    "use memory",
    "export database 'log'",
    "import database 'log'",
    "create table x as from results",
    "insert into results from results",
    "delete from results",
    "drop view results",
    "prepare x as select 1",
    "vacuum",
    "begin",
    "from query('select 1')",
    "from glob('*')",
    "from json_execute_serialized_sql('')",
    "from pandas_scan(1)",
    "from arrow_scan_dumb(1, 2, 3)",
    "select " + "(select " * 400 + "1" + ")" * 400,
    "select 1" + " union all select 1" * 1000,
]


@pytest.mark.parametrize(
    "refused", [REFUSED[::8], pytest.param(REFUSED, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_queries_only_read_tables(folder: Path, tmp_path: Path, refused: list[str]) -> None:
    """Whatever else DuckDB can do is refused before it runs, and the next query works.

    In a process of its own, since some of it ends the process.
    """
    code = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from boundmark.problems.errors import StoreError\n"
        "from boundmark.reports.query import query_folder\n"
        "for sql in json.loads(sys.argv[2]):\n"
        "    try:\n"
        "        print('answered', flush=True) if query_folder(Path(sys.argv[1]), sql) else None\n"
        "    except StoreError as error:\n"
        "        print(str(error).splitlines()[0], flush=True)\n"
    )
    given = json.dumps([*refused, "select 1"])
    done = subprocess.run(
        [sys.executable, "-c", code, folder, given], cwd=tmp_path, capture_output=True, text=True
    )
    told = dict(zip([*refused, "select 1"], done.stdout.splitlines(), strict=True))
    assert done.returncode == 0, done.stderr
    assert told.pop("select 1") == "answered"
    assert not [sql for sql, line in told.items() if not line.startswith("the query ")]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "from results",
        "values (1)",
        "with x as (select status from results) from x",
        "summarize results",
        "describe results",
        "pivot results on status in ('ok') using count(*)",
        "from range(3)",
        "select unnest([1, 2])",
        "from duckdb_tables() where table_name = 'call enable_logging()'",
    ],
)
def test_queries_that_only_read_are_answered(folder: Path, sql: str) -> None:
    """In all forms that DuckDB knows."""
    assert query_folder(folder, sql).columns


@pytest.fixture
def small(tmp_path: Path, make_row: Any) -> ResultStore:
    """Return a folder with a report on one task."""
    pytest.importorskip("duckdb")
    store = ResultStore.create_or_open(tmp_path)
    append(store, make_row("x", objective=3), [])
    write_report(tmp_path, ["md"])
    assert query_folder(tmp_path, "select objective from certified").rows == ((3,),)
    return store


def _edit(path: Path) -> None:
    table = pd.read_parquet(path)
    table.assign(objective=2).to_parquet(path)


@pytest.mark.parametrize("spoil", [_edit, lambda path: path.write_bytes(b"no")])
def test_tables_that_were_changed_are_left_out(
    small: ResultStore, spoil: Callable[[Path], None]
) -> None:
    """By name, and the others stay."""
    spoil(small.directory / "tables" / "certified.parquet")
    answer = query_folder(small.directory, "show tables")
    names = {row[0] for row in answer.rows}
    assert "certified" not in names
    assert {"results", "pipeline_methods"} <= names
    (note,) = answer.notes
    assert "certified.parquet is left out" in note


def _later_row(store: ResultStore, row: Any) -> None:
    append(store, row, [])


def _other_time(store: ResultStore, row: Any) -> None:
    store.compact()
    store.put(store.results().assign(wall_seconds=7.0), store.traces())


def _older_version(store: ResultStore, row: Any) -> None:
    (store.directory / "tables" / "made_from.json").unlink()


def _broken_note(store: ResultStore, row: Any) -> None:
    (store.directory / "tables" / "made_from.json").write_text('{"rows": []}')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_later_row, "have changed since"),
        (_other_time, "have changed since"),
        (_older_version, "older version"),
        (_broken_note, "older version"),
    ],
)
def test_tables_of_other_rows_are_left_out(
    small: ResultStore, make_row: Any, change: Callable[..., None], reason: str
) -> None:
    """All of them, until there is a new report; rows are there as always."""
    change(small, make_row("y", objective=4, instance="b"))
    answer = query_folder(small.directory, "show tables")
    assert {row[0] for row in answer.rows} == {"results", "traces", "unsupported"}
    (note,) = answer.notes
    assert reason in note
    write_report(small.directory, ["md"])
    answer = query_folder(small.directory, "select count(*) from certified")
    assert answer.notes == ()
    assert answer.rows[0][0] == len(small.results())


def test_rows_may_be_stored_together_since(small: ResultStore) -> None:
    """They are the same."""
    small.compact()
    assert query_folder(small.directory, "select objective from certified").notes == ()


BOUNDS = "select task_id, bound_certified, certificate_sha256 from results order by 1"


@pytest.mark.parametrize("reported", ["before", "after", "never"])
@pytest.mark.parametrize("spoil", ["altered", "deleted"])
def test_bounds_need_their_certificates(
    tmp_path: Path, make_row: Any, spoil: str, reported: str
) -> None:
    """A bound without one is left out of every table and counted; reports from before it too."""
    pytest.importorskip("duckdb")
    store = ResultStore.create_or_open(tmp_path)
    for task, bound in (("honest", 7), ("spoilt", 12345)):
        row = make_row(task, instance=task, method_kind="bound", bound_certified=bound)
        append(store, row, [{"seconds": 0.1, "kind": "bound_certified", "value": float(bound)}])
    if reported == "before":
        write_report(tmp_path, ["md"])
    assert query_folder(tmp_path, BOUNDS).notes == ()
    (certificate,) = (path for path in store.certificates.iterdir() if "12345" in path.read_text())
    if spoil == "deleted":
        certificate.unlink()
    else:
        certificate.write_text(certificate.read_text().replace("12345", "12346"))
    if reported == "after":
        write_report(tmp_path, ["md"])

    answer = query_folder(tmp_path, BOUNDS)
    assert [row[:2] for row in answer.rows] == [("honest", 7), ("spoilt", None)]
    assert answer.rows[1][2] is None
    assert query_folder(tmp_path, "select value from traces").rows == ((7.0,),)
    left_out = query_folder(tmp_path, 'select task_id, "column", value from unsupported').rows
    assert left_out == (("spoilt", "bound_certified", 12345),)
    assert answer.notes[0].startswith("1 certified bound and 0 verified costs left out")
    if reported == "after":
        known = query_folder(tmp_path, "select bound from certified order by 1").rows
        assert known == ((7,), (None,))
    else:
        with pytest.raises(StoreError, match="certified does not exist"):
            query_folder(tmp_path, "select bound from certified")
    assert len(answer.notes) == (2 if reported == "before" else 1)


def test_without_duckdb_the_extra_is_named(folder: Path, monkeypatch: Any) -> None:
    """Before anything is read."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(BoundmarkError, match=r"expected the extra 'query': pip install 'duckdb>="):
        query_folder(folder, "select 1")
