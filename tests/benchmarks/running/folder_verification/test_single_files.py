"""Whether instances are what their rows call them, by making them again."""

import shutil
from pathlib import Path

import pytest
from altered_folders import read_rows, write_rows
from command_line import Boundmark

from boundmark.benchmarks.running.folder_verification import verify_sources
from boundmark.datasets import resolve
from boundmark.problems.dataset import Dataset


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
    monkeypatch.setattr(resolve, "datasets", lambda: {"odd": odd})
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
        f'description = "One."\nproblem = "{problem}"\ntime_limit_seconds = 10\n'
        f'memory_limit_gib = 2\nmethods = ["{method}"]\n'
        f'[[instances]]\ndataset = "{dataset}"\nmembers = ["{member}"]\n{extra}\n'
    )
    boundmark("run", suite, "--out", out, "--quiet")
    assert [verdict.reason for verdict in verify_sources(out)] == [None]
