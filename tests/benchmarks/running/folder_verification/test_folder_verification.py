"""Whatever is altered in a results folder, some file or row of it is rejected, in a sentence."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from altered_folders import ALTERATIONS, copy_folder, identified, read_rows, write_rows
from command_line import Boundmark
from selection import first_now

from boundmark.benchmarks.running.folder_verification import verify_folder, verify_sources
from boundmark.problems.catalog import datasets
from boundmark.problems.dataset import Dataset
from boundmark.reports.stored.store import write_document


def test_an_honest_folder_is_accepted(finished_run: Path) -> None:
    """There is one verdict per document and per row, all of them good."""
    verdicts = list(verify_folder(finished_run))
    assert [verdict.reason for verdict in verdicts] == [None] * len(verdicts)
    folders = ("instances", "solutions", "certificates", "labels")
    files = [path for name in folders for path in (finished_run / name).glob("*.json")]
    assert len(verdicts) == len(files) + len(read_rows(finished_run))


@pytest.mark.parametrize("name", ALTERATIONS)
@pytest.mark.parametrize("seed", first_now(range(4)))
def test_an_alteration_is_noticed(name: str, seed: int, finished_run: Path, tmp_path: Path) -> None:
    """Something is rejected, and the reason is one line of printable text."""
    copy = tmp_path / "copy"
    copy_folder(finished_run, copy)
    done = ALTERATIONS[name](copy, random.Random(seed))
    rejected = [verdict for verdict in verify_folder(copy) if verdict.reason is not None]
    assert rejected, done
    for verdict in rejected:
        assert verdict.reason is not None
        assert verdict.reason.isprintable()


def test_bounds_set_to_the_best_cost_are_all_rejected(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """Rows that claim every solution optimal do not pass, with or without their certificates."""
    copy = tmp_path / "copy"
    copy_folder(finished_run, copy)
    rows = read_rows(copy)
    best = rows.groupby("instance_sha256")["objective"].transform("min")
    false = rows["bound_certified"] != best
    rows["bound_certified"] = best
    write_rows(copy, rows)
    done = boundmark("verify", copy, check=False)
    assert done.returncode == 1
    for task_id in rows.loc[false.fillna(True), "task_id"]:
        assert f"row of task {task_id!r}" in done.stdout
    rows["certificate_sha256"] = None
    write_rows(copy, rows)
    done = boundmark("verify", copy, check=False)
    assert done.returncode == 1
    assert done.stdout.count("rejected: ") == len(rows)


@pytest.fixture
def copy(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a finished run."""
    copy_folder(finished_run, tmp_path / "copy")
    return tmp_path / "copy"


def reasons(folder: Path) -> str:
    """Return why anything in a folder is rejected."""
    verdicts = verify_folder(folder)
    return "\n".join(f"{one.subject}: {one.reason}" for one in verdicts if one.reason)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("method_kind", "oracle", "method_kind is 'oracle'; expected one of heuristic, bound"),
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


def test_instances_are_what_they_are_called(finished_run: Path) -> None:
    """One verdict on each of them."""
    verdicts = list(verify_sources(finished_run))
    assert len(verdicts) == read_rows(finished_run)["instance_sha256"].nunique()
    assert {verdict.reason for verdict in verdicts} == {None}


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("dataset", "file", "it came from a file; expected a member of a data set"),
        ("instance", "no-such", "it cannot be made again here: there is no"),
        ("device", "ours.toml", "device 'ours.toml' is in a file; expected a shipped one"),
        ("device", "moirai-intra-server+p100=../t.json", "is in a file; expected a shipped one"),
        ("device", "nvidia-v100", "comes with costs"),
        ("instance_params", '{"devices": "2xmy.toml:npu"}', "names a file; expected what"),
        ("problem", "knapsack", "there is no problem 'knapsack'"),
        ("instance_params", '["k"]', "it cannot be made again here: "),
        ("instance_params", "{", "it cannot be made again here: "),
        ("instance_params", '{"k": 3}', "made again, it has the hash"),
        ("instance_sha256", "0" * 64, "made again, it has the hash"),
    ],
)
def test_other_names(
    finished_run: Path, tmp_path: Path, column: str, value: str, expected: str
) -> None:
    """Whatever a row says that is not so is said in a sentence."""
    out = tmp_path / "out"
    shutil.copytree(finished_run, out)
    rows = read_rows(out)
    rows = rows[rows["dataset"] == "regal-style"]
    write_rows(out, rows.assign(**{column: value}))
    verdicts = list(verify_sources(out))
    assert verdicts
    for verdict in verdicts:
        assert expected in str(verdict.reason)


def test_a_data_set_that_raises(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another package's data set that fails, in whatever way, is a verdict and no end."""

    def load(name: str) -> object:
        raise KeyError(name)

    odd = Dataset("odd", object, "Odd.", tuple, load)
    monkeypatch.setitem(datasets(), "odd", odd)
    out = tmp_path / "out"
    shutil.copytree(finished_run, out)
    write_rows(out, read_rows(out).assign(dataset="odd", instance="x"))
    for verdict in verify_sources(out):
        expected = "it cannot be made again here: data set 'odd' does not load 'x': KeyError: 'x'"
        assert verdict.reason == expected


@pytest.mark.parametrize(
    ("problem", "dataset", "member", "method", "extra"),
    [
        ("microbatch", "shapes", "v-4-train", "device-load", "memory = [4]"),
        ("ordering", "onnx-light", "squeezenet", "live-cut", 'metric = ["sum"]'),
        ("slicing", "onnx-light", "squeezenet", "slice-compute", "edge_devices = [2]"),
        ("placement", "onnx-light", "squeezenet", "critical-path", 'fusion = ["backends"]'),
    ],
)
def test_other_problems(
    boundmark: Boundmark, tmp_path: Path, problem: str, dataset: str, member: str,
    method: str, extra: str,
) -> None:  # fmt: skip
    """Parameters in rows are enough to make instances of every problem again."""
    suite, out = tmp_path / "suite.toml", tmp_path / "out"
    suite.write_text(
        f'description = "One."\nproblem = "{problem}"\ntime_limit_seconds = 60\n'
        f'memory_limit_gib = 2\nmethods = ["{method}"]\n'
        f'[[instances]]\ndataset = "{dataset}"\nmembers = ["{member}"]\n{extra}\n'
    )
    boundmark("run", suite, "--out", out, "--quiet")
    assert [verdict.reason for verdict in verify_sources(out)] == [None]
