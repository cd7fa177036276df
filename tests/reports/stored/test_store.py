"""The results folder keeps what it was given, whatever happens."""

import datetime as dt
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.schema import RESULTS, VERSION, VERSION_KEY
from boundmark.reports.stored.store import ResultStore

EVENT = {"seconds": 0.5, "kind": "solution", "value": 7.0}


def test_returns_what_was_appended(tmp_path: Path, make_row: Any) -> None:
    """Values come back exactly, integers of 53 bits beside missing ones included."""
    store = ResultStore.create_or_open(tmp_path / "new" / "folder")
    store.append(make_row("b", objective=2**53 - 1), [EVENT])
    store.append(make_row("a", objective=None, bound_claimed=473.999999), [])
    results = store.results()
    assert list(results["task_id"]) == ["a", "b"]
    assert list(results.columns) == RESULTS.names
    assert results["objective"][1] == 2**53 - 1
    assert results["objective"].isna()[0]
    assert results["bound_claimed"][0] == 473.999999
    assert store.traces().to_dict("records") == [{"task_id": "b", **EVENT}]
    assert store.finished() == {"a": "ok", "b": "ok"}


def test_compacting_changes_no_content(tmp_path: Path, make_row: Any) -> None:
    """One file of each kind is left, twice over, and later tasks are added to it."""
    store = ResultStore.create_or_open(tmp_path)
    for task_id in "abc":
        store.append(make_row(task_id), [EVENT])
    before, traces = store.results(), store.traces()
    store.compact()
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["merged.parquet"]
    assert [path.name for path in (tmp_path / "traces").iterdir()] == ["merged.parquet"]
    store.compact()
    pd.testing.assert_frame_equal(store.results(), before)
    pd.testing.assert_frame_equal(store.traces(), traces)
    store.append(make_row("d"), [EVENT])
    store.compact()
    assert list(store.finished()) == list("abcd")
    assert len(store.traces()) == 4


def test_a_task_that_ran_again_replaces_itself(tmp_path: Path, make_row: Any) -> None:
    """Row and trace are those of the later attempt, before and after compaction, even if empty."""
    store = ResultStore.create_or_open(tmp_path)
    store.append(make_row("a", status="timeout"), [EVENT, EVENT])
    store.append(make_row("b"), [EVENT])
    store.compact()
    store.append(make_row("a", status="oom"), [])
    for _ in range(2):
        assert store.finished() == {"a": "oom", "b": "ok"}
        assert list(store.traces()["task_id"]) == ["b"]
        store.compact()


def test_of_duplicates_the_latest_counts(tmp_path: Path, make_row: Any) -> None:
    """Files copied together by hand may repeat a task; the one that started last is kept."""
    store = ResultStore.create_or_open(tmp_path / "x")
    other = ResultStore.create_or_open(tmp_path / "y")
    early = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    store.append(make_row("a", status="ok", started_at=early + dt.timedelta(hours=1)), [])
    other.append(make_row("a", status="oom", started_at=early), [])
    (tmp_path / "y/results/a.parquet").rename(tmp_path / "x/results/z.parquet")
    assert store.finished() == {"a": "ok"}
    assert list(store.results()["status"]) == ["ok"]


def test_stray_files_are_ignored(tmp_path: Path, make_row: Any) -> None:
    """Unfinished, hidden and foreign files are not ours to read."""
    store = ResultStore.create_or_open(tmp_path)
    store.append(make_row("a"), [])
    for name in ("x.parquet.tmp", ".x.parquet", "notes.txt", ".a.parquet.1-2.part"):
        (tmp_path / "results" / name).write_text("no Parquet")
    (tmp_path / "results" / "folder.parquet").mkdir()
    assert store.finished() == {"a": "ok"}
    store.compact()
    assert (tmp_path / "results" / "x.parquet.tmp").exists()
    assert ResultStore.open(tmp_path).finished() == {"a": "ok"}


def test_what_was_left_half_written_is_removed(tmp_path: Path) -> None:
    """In every folder; a report may be written by another process that lives."""
    store = ResultStore.create_or_open(tmp_path)
    own = ("results", "traces", "instances", "solutions", "certificates", "environments")
    for folder in (*own, "tables", "plots", "."):
        (tmp_path / folder).mkdir(exist_ok=True)
        for writer in (os.getpid(), 2**22 + 1):
            (tmp_path / folder / f".a.b.{writer}-7.part").write_text("half")
        (tmp_path / folder / "x.part").write_text("not ours")
    store.remove_partial_files()
    for folder in own:
        assert [path.name for path in (tmp_path / folder).iterdir()] == ["x.part"]
    for folder in ("tables", "plots"):
        names = {path.name for path in (tmp_path / folder).iterdir()}
        assert names == {f".a.b.{os.getpid()}-7.part", "x.part"}
    assert [path.name for path in tmp_path.glob(".*")] == [f".a.b.{os.getpid()}-7.part"]


def test_names_that_are_no_text(tmp_path: Path, make_row: Any) -> None:
    """A folder with any bytes in its name is written and read; an instance's name is escaped."""
    store = ResultStore.create_or_open(tmp_path / os.fsdecode(b"caf\xe9"))
    store.append({**make_row("a"), "instance": "m\udce9.onnx"}, [])
    store.append(make_row("b"), [])
    store.compact()
    assert r"m\udce9.onnx" in [*store.results()["instance"]]


def test_text_of_a_time_is_a_time(tmp_path: Path, make_row: Any) -> None:
    """ISO 8601 with a zone, as it arrives from other processes."""
    store = ResultStore.create_or_open(tmp_path)
    store.append(make_row("a", started_at="2026-01-02T03:04:05.000006+00:00"), [])
    assert store.results()["started_at"][0] == pd.Timestamp("2026-01-02T03:04:05.000006Z")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objectiv": 1}, "'objectiv' is no column"),
        ({"objective": "seven"}, "column 'objective' does not take"),
        ({"objective": 2**70}, "column 'objective' does not take"),
        ({"stderr_tail": 3}, "column 'stderr_tail' does not take"),
        ({"dataset": None}, "column 'dataset' is missing"),
        ({"status": "fine"}, "status of task 'a' is 'fine'; expected one of ok, timeout"),
        ({"started_at": None}, "started_at is None; expected a time"),
        ({"started_at": "yesterday"}, "started_at is 'yesterday'"),
        ({"started_at": "2026-01-02T03:04:05"}, "expected a time with its zone"),
    ],
)
def test_rejects_rows_that_do_not_fit(
    tmp_path: Path, make_row: Any, change: dict[str, Any], message: str
) -> None:
    """A wrong row is one sentence that names the column, and nothing is stored."""
    store = ResultStore.create_or_open(tmp_path)
    with pytest.raises(StoreError, match=message):
        store.append(make_row("a") | change, [])
    assert store.finished() == {}
    assert len(store.traces()) == 0


def test_rejects_unknown_kinds_of_events(tmp_path: Path, make_row: Any) -> None:
    """The primal-dual integral has to know what an event is."""
    store = ResultStore.create_or_open(tmp_path)
    with pytest.raises(StoreError, match="kind of a trace event of task 'a' is 'hunch'"):
        store.append(make_row("a"), [EVENT | {"kind": "hunch"}])


@pytest.mark.parametrize(
    ("version", "message"),
    [("0", f"schema version 0; expected version {VERSION}"), (None, "no schema version")],
)
@pytest.mark.parametrize("folder", ["results", "traces"])
def test_refuses_other_schema_versions(
    tmp_path: Path, make_row: Any, version: str | None, message: str, folder: str
) -> None:
    """Opening names the file and both versions, and not a byte changes."""
    store = ResultStore.create_or_open(tmp_path)
    store.append(make_row("a"), [EVENT])
    path = tmp_path / folder / "a.parquet"
    metadata = {} if version is None else {VERSION_KEY: version}
    pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
    content = path.read_bytes()
    for use in (ResultStore.open, ResultStore.create_or_open):
        with pytest.raises(StoreError, match=f"a.parquet has {message}"):
            use(tmp_path)
    with pytest.raises(StoreError, match=message):
        store.compact()
    assert path.read_bytes() == content


def test_refuses_files_that_are_broken(tmp_path: Path, make_row: Any) -> None:
    """Neither half a file nor one that lacks a column is skipped in silence."""
    store = ResultStore.create_or_open(tmp_path)
    store.append(make_row("a"), [])
    path = tmp_path / "results" / "b.parquet"
    path.write_bytes((tmp_path / "results" / "a.parquet").read_bytes()[:-100])
    with pytest.raises(StoreError, match=r"b\.parquet cannot be read as Parquet"):
        store.results()
    pq.write_table(pa.table({"task_id": ["b"]}).replace_schema_metadata(RESULTS.metadata), path)
    with pytest.raises(StoreError, match=r"b\.parquet lacks columns"):
        store.results()


def test_refuses_folders_that_cannot_be_used(tmp_path: Path) -> None:
    """A folder in whose place a file stands, and one that holds something else."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used as a results folder: Not a directory"):
        ResultStore.create_or_open(tmp_path / "file")
    with pytest.raises(StoreError, match="is not a results folder"):
        ResultStore.open(tmp_path)
    with pytest.raises(StoreError, match="nothing does not exist; expected a results folder"):
        ResultStore.open(tmp_path / "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_one_sentence(
    tmp_path: Path, make_row: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failed row leaves no trace, and rows stored before stay."""
    store = ResultStore.create_or_open(tmp_path)
    store.append(make_row("a"), [])

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"b\.parquet cannot be written: No space left"):
            store.append(make_row("b"), [])
        with pytest.raises(StoreError, match="No space left"):
            store.compact()
    assert store.finished() == {"a": "ok"}
    assert not list(tmp_path.glob("*/.*"))


# Runs one operation in each of the folders 1, 2, ...; in folder i it dies without a word just
# before the i-th call that changes a file name or makes a change last. Prints how each ended.
DYING = """
import json, os, sys
from pathlib import Path
from boundmark.reports.stored.store import ResultStore

def dying(call):
    def wrapped(*arguments, **options):
        global steps
        steps -= 1
        if steps == 0:
            os._exit(9)
        return call(*arguments, **options)
    return wrapped

top, operation, folders, row = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
for steps in range(1, folders + 1):
    store = ResultStore(top / str(steps))
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    os.fsync = dying(os.fsync)
    Path.replace, Path.unlink = dying(Path.replace), dying(Path.unlink)
    if operation == "append":
        store.append(json.loads(row), [{"seconds": 0.5, "kind": "solution", "value": 7.0}])
    else:
        store.compact()
    os._exit(0)
"""


@pytest.mark.parametrize(("operation", "steps"), [("append", 6), ("compact", 12)])
def test_killed_at_any_step_loses_nothing(
    tmp_path: Path, make_row: Any, operation: str, steps: int
) -> None:
    """Whatever was stored stays, once; the new row is there in full or not at all."""
    row = make_row("new", started_at="2026-01-02T03:04:05+00:00")
    for step in range(1, steps + 2):
        store = ResultStore.create_or_open(tmp_path / str(step))
        store.append(make_row("a"), [EVENT])
        store.compact()
        store.append(make_row("b"), [EVENT])
        store.append(make_row("c"), [EVENT])
    command = [sys.executable, "-c", DYING, str(tmp_path), operation, str(steps + 1)]
    done = subprocess.run([*command, json.dumps(row)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["9"] * steps + ["0"]
    for step in range(1, steps + 2):
        store = ResultStore.open(tmp_path / str(step))
        stored = {"a", "b", "c", *(["new"] if operation == "append" and step > steps else [])}
        assert stored <= set(store.finished()) <= stored | {"new"}
        # Doing the same again succeeds and repeats nothing.
        if operation == "append":
            store.append(row, [EVENT])
            stored.add("new")
        store.remove_partial_files()
        store.compact()
        assert set(store.finished()) == stored
        assert sorted(store.traces()["task_id"]) == sorted(stored)
        assert not list((tmp_path / str(step)).glob("*/.*"))
