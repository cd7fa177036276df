"""Whatever a single field of a row claims that cannot be so is said in a sentence."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from altered_folders import copy_folder, identified, read_rows, write_rows

from boundmark.benchmarks.running.folder_check import check_folder
from boundmark.benchmarks.running.folder_check.rows import ending_faults
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.reports.stored.store import write_document

# A row as a task leaves it that returned in time.
ENDED = {
    "status": "ok",
    "exit_code": 0,
    "exit_signal": None,
    "wall_seconds": 9.5,
    "cpu_seconds": 9.0,
    "verify_seconds": 0.1,
    "peak_rss_bytes": 2**20,
    "time_limit_seconds": 10.0,
}
KILLED = {"exit_code": None, "exit_signal": 9}
UNKNOWN = {"exit_code": None, "exit_signal": None}


@pytest.fixture
def copy(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a finished run."""
    copy_folder(finished_run, tmp_path / "copy")
    return tmp_path / "copy"


def reasons(folder: Path) -> str:
    """Return why anything in a folder is rejected."""
    verdicts = check_folder(folder)
    return "\n".join(f"{one.subject}: {one.reason}" for one in verdicts if one.reason)


@pytest.mark.parametrize(
    "altered",
    [
        {},
        {"exit_code": 1, "status": "unsupported"},
        {"exit_code": 1, "status": "oom"},
        {**KILLED, "status": "oom"},
        {**KILLED, "exit_signal": 6, "status": "oom"},
        {**KILLED, "status": "timeout", "wall_seconds": 11.3},
        # `solve` ends methods once an optimum is proven.
        {**KILLED, "status": "timeout", "wall_seconds": 0.2},
        {**UNKNOWN, "status": "timeout", "wall_seconds": 17.0},
        {**UNKNOWN, "status": "crashed", "wall_seconds": 0.0},
        {**KILLED, "exit_signal": 11, "status": "crashed"},
        {"exit_code": 3, "status": "crashed"},
        # What it reported was refused, however it ended.
        {"status": "error"},
        {**KILLED, "status": "error"},
        {**UNKNOWN, "status": "error"},
        # Killed while it read its instance, which is no part of its time.
        {**KILLED, "status": "error", "wall_seconds": 120.1},
    ],
)
def test_endings_of_tasks(altered: dict[str, Any]) -> None:
    """However a task can end, its row is accepted."""
    assert list(ending_faults({**ENDED, **altered})) == []


@pytest.mark.parametrize(
    ("altered", "expected"),
    [
        ({"status": "fine"}, "status is 'fine'; expected one of ok, timeout"),
        ({"exit_code": 1}, "status is 'ok' with exit_code 1; expected exit_code 0"),
        (KILLED, "status is 'ok' with exit_signal 9; expected exit_code 0"),
        (UNKNOWN, "status is 'ok' with neither exit_code nor exit_signal; expected exit_code 0"),
        ({"exit_signal": 9}, "exit_code is 0 and exit_signal is 9; expected one of them at most"),
        ({"status": "timeout"}, "status is 'timeout' with exit_code 0; expected exit_signal 9"),
        ({"status": "oom"}, "with exit_code 0; expected exit_code 1 or exit_signal 9 or exit_sig"),
        ({"status": "unsupported"}, "with exit_code 0; expected exit_code 1"),
        ({"status": "crashed", "exit_code": 256}, "exit_code is 256; expected 0 to 255"),
        ({"status": "crashed", "exit_code": -9}, "exit_code is -9; expected 0 to 255"),
        ({**KILLED, "status": "crashed", "exit_signal": 0}, "exit_signal is 0; expected 1 to 64"),
        ({**KILLED, "status": "crashed", "exit_signal": 65}, "exit_signal is 65; expected 1 to 64"),
        ({"wall_seconds": -0.1}, "wall_seconds is -0.1; expected a non-negative number"),
        ({"wall_seconds": None}, "wall_seconds is None; expected a non-negative number"),
        ({"wall_seconds": float("inf")}, "wall_seconds is inf; expected a non-negative number"),
        ({"cpu_seconds": float("inf")}, "cpu_seconds is inf; expected a non-negative number"),
        ({"cpu_seconds": None}, "cpu_seconds is None; expected a non-negative number"),
        ({"verify_seconds": -1.0}, "verify_seconds is -1.0; expected a non-negative number"),
        ({"peak_rss_bytes": -1}, "peak_rss_bytes is -1; expected a non-negative number"),
        ({"wall_seconds": 18.5}, "wall_seconds is 18.5; expected at most 18 under a limit of 10 s"),
        (
            {**KILLED, "status": "timeout", "wall_seconds": 128.0},
            "wall_seconds is 128; expected at most 127 under a limit of 10 s",
        ),
        ({"time_limit_seconds": 0.0}, "time_limit_seconds is 0.0; expected a number above 0"),
        ({"time_limit_seconds": None}, "time_limit_seconds is None; expected a number above 0"),
        (
            {"time_limit_seconds": float("inf")},
            "time_limit_seconds is inf; expected a number above 0",
        ),
    ],
)
def test_impossible_endings(altered: dict[str, Any], expected: str) -> None:
    """No run of a task leaves such a row."""
    assert expected in "\n".join(ending_faults({**ENDED, **altered}))


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("method_kind", "oracle", "method_kind is 'oracle'; expected one of heuristic, bound"),
        ("environment_sha256", None, "its environment cannot be used: environment_sha256 is None"),
        ("environment_sha256", "0" * 64, f"its environment cannot be used: {'0' * 64}.json is not"),
        (
            "environment_sha256",
            "../environment",
            "environment_sha256 is '../environment'; expected",
        ),
        ("host", "fast-machine", "host is 'fast-machine'; its environment has '"),
        ("host", None, "host is None; its environment has '"),
        ("exit_code", 7, "status is 'ok' with exit_code 7; expected exit_code 0"),
        ("wall_seconds", 100.0, "wall_seconds is 100; expected at most 18 under a limit of 10 s"),
        ("wall_seconds", 0.0, "its task for 0 s"),
        ("method", "memetic", "expected 'memetic "),
        ("method_version", 77, " 77', the row's method and its version"),
    ],
)
def test_a_field_of_a_row(copy: Path, column: str, value: Any, expected: str) -> None:
    """Even if the task's identity is made to fit."""
    rows = read_rows(copy)
    row = rows.index[rows["solution_sha256"].notna()][0]
    rows.loc[row, column] = value
    rows.loc[row, "task_id"] = identified(rows.loc[row])
    write_rows(copy, rows)
    assert expected in reasons(copy)


@pytest.mark.parametrize(
    ("kind", "hash_column"),
    [("solutions", "solution_sha256"), ("certificates", "certificate_sha256")],
)
@pytest.mark.parametrize(
    ("producer", "expected"),
    [
        ("memetic 5", "was found by 'memetic 5'; expected '"),
        ("", "was found by ''; expected '"),
        (None, "names no producer; expected '"),
        (7, "'s producer is not a text, but 7"),
    ],
)
def test_who_found_it(
    copy: Path, kind: str, hash_column: str, producer: Any, expected: str
) -> None:
    """A document says whose it is, under its own hash, which has to be the row's method."""
    rows = read_rows(copy)
    row = rows.index[rows[hash_column].notna()][0]
    document = json.loads((copy / kind / f"{rows.loc[row, hash_column]}.json").read_text())
    del document["producer"]
    if producer is not None:
        document["producer"] = producer
    rows.loc[row, hash_column] = write_document(copy / kind, document)
    write_rows(copy, rows)
    if producer is None and kind == "certificates":
        expected = "the certificate is not an object with the fields"
    assert expected in reasons(copy)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"cpu": "a faster one"}, "its content hashes to "),
        ({"host": None}, "it is no object with a host"),
        ({"memory_bytes": float("nan")}, "it holds a number that JSON does not have"),
    ],
)
def test_the_record_of_a_machine(copy: Path, change: dict[str, Any], expected: str) -> None:
    """It is named after its hash, and whatever names it is not supported by another one."""
    (path,) = (copy / "environments").glob("*.json")
    record = {**json.loads(path.read_text()), **change}
    path.unlink()
    path.write_text(json.dumps(record))
    found = reasons(copy)
    assert f"{path}: {expected}" in found
    assert found.count("its environment cannot be used: ") == len(read_rows(copy))
    assert f"{copy / 'environment.json'}: it is no record that rows can name" in found


def test_the_load_of_a_machine_is_no_part_of_its_name(copy: Path) -> None:
    """Runs that differ in it share a record."""
    (path,) = (copy / "environments").glob("*.json")
    record = json.loads(path.read_text())
    path.unlink()
    path.write_text(canonical_json({**record, "load_at_start": [99.0, 1.0, 0.5]}))
    assert reasons(copy) == ""


def test_the_record_of_the_newest_run(copy: Path) -> None:
    """It is one of those that rows can name."""
    path = copy / "environment.json"
    text = path.read_text()
    path.unlink()
    path.write_text(canonical_json({**json.loads(text), "cores": 1000}))
    assert f"{path}: it is no record that rows can name: " in reasons(copy)


@pytest.mark.parametrize("content", ["[0.5]", "[0.1, -1]", "{}"])
def test_the_speed_of_a_machine(copy: Path, content: str) -> None:
    """What the reference task took cannot be changed in place."""
    (path,) = (copy / "machine").glob("*.json")
    path.unlink()
    path.write_text(content)
    assert f"{path}: " in reasons(copy)


def test_a_machine_under_another_name_is_accepted_by_its_hash(copy: Path) -> None:
    """The file's name is the hash of its text."""
    text = "[0.25,0.5]"
    shutil.rmtree(copy / "machine")
    (copy / "machine").mkdir()
    (copy / "machine" / f"{sha256_hex(text)}.json").write_text(text)
    assert reasons(copy) == ""
