"""`boundmark nightly` and `gate`: what a night leaves, and why it fails."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Boundmark

pytestmark = pytest.mark.usefixtures("all_undrawn")

SUITE = """
description = "Two tasks."
problem = "pipeline"
time_limit_seconds = 60
memory_limit_gib = 1
methods = ["max-work", "slicegraph"]

[[instances]]
dataset = "regal-style"
members = ["erdos-renyi-1"]
k = [2]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, boundmark: Boundmark) -> Path:
    """Return a folder with a suite, `small.toml`, and its baseline, made by `--refresh`."""
    folder = tmp_path_factory.mktemp("nights")
    (folder / "small.toml").write_text(SUITE)
    done = boundmark(*nightly(folder), "--refresh")
    assert "2 tasks of " in done.stdout
    return folder


def nightly(folder: Path) -> list[object]:
    """Return the command for a night of the suite in a folder."""
    suite = folder / "small.toml"
    return ["nightly", suite, "--baselines", folder / "baselines", "--nights", folder / "nights"]


def nights(folder: Path) -> list[Path]:
    """Return what is kept of all nights."""
    return sorted((folder / "nights" / "runs").iterdir())


def test_nights_are_compared_reported_and_removed(boundmark: Boundmark, place: Path) -> None:
    """A night like its baseline passes; with --keep 1 the next one removes it and its manifest."""
    boundmark(*nightly(place))
    first, manifest = nights(place)
    assert manifest.name == f"{first.name}.sha256"
    assert "same or better" in (first / "comparison.md").read_text()
    assert "same or better" in (first / "report.html").read_text()
    other = place / "nights" / "runs" / "2020-01-01T000000Z-other"
    other.mkdir()
    boundmark(*nightly(place), "--keep", "1")
    kept = nights(place)
    assert other in kept
    assert len(kept) == 3
    assert first not in kept
    history = pq.read_table(place / "nights" / "small-history.parquet").to_pandas()
    assert len(history.groupby(["problem", "method"])) * 2 == len(history)


def test_a_night_that_is_worse_fails_and_names_the_method(
    boundmark: Boundmark, place: Path, tmp_path: Path
) -> None:
    """The report begins with the verdict all the same; a library that is none is told of, too."""
    (tmp_path / "small.toml").write_text(SUITE)
    (tmp_path / "baselines").mkdir()
    table = pq.read_table(place / "baselines" / "small.parquet")
    costs = [None if one is None else one - 1 for one in table["objective"].to_pylist()]
    at = table.schema.get_field_index("objective")
    better = table.set_column(at, table.schema.field(at), pa.array(costs, pa.int64()))
    pq.write_table(better, tmp_path / "baselines" / "small.parquet")
    (tmp_path / "library").mkdir()
    done = boundmark(*nightly(tmp_path), "--library", tmp_path / "library", check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "failed: verification of the library, NEW is worse: slicegraph (objective 1)"
    assert "NEW is worse" in (nights(tmp_path)[0] / "report.html").read_text()


def test_a_night_without_a_baseline_fails(boundmark: Boundmark, tmp_path: Path) -> None:
    """And says how to make one; the results stay."""
    (tmp_path / "small.toml").write_text(SUITE)
    done = boundmark(*nightly(tmp_path), check=False)
    assert done.returncode == 1
    base = tmp_path / "baselines" / "small.parquet"
    assert done.stderr.splitlines()[-1] == (
        f"failed: comparison: {base} is not there; the same command with --refresh makes it"
    )
    assert (nights(tmp_path)[0] / "report.html").exists()


def test_a_suite_that_is_none_runs_nothing(boundmark: Boundmark, tmp_path: Path) -> None:
    """One sentence, and no folder."""
    done = boundmark("nightly", "smokey", "--nights", tmp_path / "nights", check=False)
    assert done.returncode == 2
    assert "smokey" in done.stderr
    assert not (tmp_path / "nights").exists()


def test_a_gate_compares_two_installations(
    boundmark: Boundmark, place: Path, tmp_path: Path
) -> None:
    """It fails over what only the other one has, and a folder in use is not taken."""
    (stored,) = (place / "nights" / "baselines").glob("*Z-small/1")
    python = tmp_path / "python"
    # Called as: python -P -m boundmark run SUITE --out DIR
    python.write_text(f'#!/bin/sh\nmkdir -p "$7" && cp -r {stored}/. "$7"\n')
    python.chmod(0o755)
    same, less = tmp_path / "same.toml", tmp_path / "less.toml"
    same.write_text(SUITE)
    less.write_text(SUITE.replace('"max-work", ', ""))
    boundmark("gate", python, same, "--out", tmp_path / "gate")
    assert "same or better" in (tmp_path / "gate" / "summary.md").read_text()
    done = boundmark("gate", python, less, "--out", tmp_path / "less", check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "failed: NEW is worse: max-work (missing 1)"
    again = boundmark("gate", python, same, "--out", tmp_path / "gate", check=False)
    assert again.returncode == 2
    assert "expected a folder that is empty or not there" in again.stderr


def test_a_gate_tells_whose_run_failed(boundmark: Boundmark, tmp_path: Path) -> None:
    """An environment without boundmark compares nothing."""
    (tmp_path / "small.toml").write_text(SUITE)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    suite = tmp_path / "small.toml"
    done = boundmark("gate", python, suite, "--out", tmp_path / "gate", check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"failed: {suite} with {python}"
