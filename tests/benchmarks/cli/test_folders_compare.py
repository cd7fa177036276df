"""`boundmark compare`, `baseline`, `--fail-on` and `--history`, as a night uses them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import Boundmark

from boundmark.benchmarks.running.environment import describe_environment
from boundmark.datasets.resolve import load_file
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.problem import solution_document
from boundmark.reports.stored.store import ResultStore, write_document

pytestmark = pytest.mark.usefixtures("all_undrawn")


def make_worse(folder: Path, method: str) -> None:
    """Let a method put everything into one stage, with solutions that the checker accepts."""
    store = ResultStore.open(folder)
    results = store.results()
    chosen = results[results["method"] == method]
    assert len(chosen)
    for row in chosen.to_dict("records"):
        instance = load_file(folder / "instances" / f"{row['instance_sha256']}.json")
        assert isinstance(instance, PipelineInstance)
        solution = Partition([0] * instance.nodes)
        cost = int(instance.objective(solution))
        document = solution_document(instance, solution, cost)
        worse: dict[str, Any] = {
            str(name): None if value != value else getattr(value, "item", lambda v=value: v)()
            for name, value in row.items()
        }
        worse |= {"objective": cost, "solution_sha256": write_document(store.solutions, document)}
        worse["started_at"] = row["started_at"].to_pydatetime()
        store.append(worse, [{"seconds": 0.1, "kind": "solution", "value": float(cost)}])


@pytest.fixture
def worse_run(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of the run in which `slicegraph` is worse than it was."""
    copy = tmp_path / "worse"
    shutil.copytree(finished_run, copy)
    make_worse(copy, "slicegraph")
    return copy


def test_a_run_passes_its_own_baseline(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """The baseline is one file, and both forms of the answer are written."""
    base = tmp_path / "base.parquet"
    assert "30 tasks of " in boundmark("baseline", finished_run, base).stdout
    done = boundmark("compare", base, finished_run, "--out", tmp_path / "out")
    assert "NEW is same or better" in done.stdout
    assert done.stdout == (tmp_path / "out" / "comparison.md").read_text()
    assert done.stdout.endswith("NEW is same or better: none of 30 compared tasks is worse.\n")
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert (found["exit_code"], found["compared"], found["findings"]) == (0, 30, [])
    # A wheel knows no commit.
    assert len(found["new"]["commits"]) == (describe_environment()["commit"] is not None)
    assert set(found["new"]["solvers"]) >= {"highspy", "ortools"}


def test_a_worse_heuristic_is_named(
    boundmark: Boundmark, finished_run: Path, worse_run: Path
) -> None:
    """Exit code 1, each of its five tasks, both solutions, and no other method."""
    done = boundmark("compare", finished_run, worse_run, "--json", check=False)
    assert done.returncode == 1
    worse = [one for one in json.loads(done.stdout)["findings"] if one["verdict"] == "worse"]
    assert {one["method"] for one in worse} == {"slicegraph"}
    assert [one["gate"] for one in worse] == ["objective"] * 5
    for one in worse:
        assert (finished_run / "solutions" / f"{one['base']['solution']}.json").exists()
        assert (worse_run / "solutions" / f"{one['new']['solution']}.json").exists()
    text = boundmark("compare", finished_run, worse_run, check=False).stdout
    assert "5 findings worse (methods: slicegraph)" in text
    assert text.splitlines()[-1] == "NEW is worse: slicegraph (objective 5)."
    # And it is an improvement the other way round.
    assert boundmark("compare", worse_run, finished_run).returncode == 0


@pytest.mark.parametrize("percent", ["nan", "0", "-1", "much"])
def test_what_is_no_percentage_is_refused(
    boundmark: Boundmark, finished_run: Path, percent: str
) -> None:
    """Before anything is read."""
    done = boundmark("compare", finished_run, finished_run, "--slower", percent, check=False)
    assert done.returncode == 2
    assert "Invalid value for '--slower'" in done.stderr


def test_thresholds_are_read(
    boundmark: Boundmark, finished_run: Path, worse_run: Path, tmp_path: Path
) -> None:
    """A tolerance lets the worse run pass, and a mistake in the file is one sentence."""
    file = tmp_path / "t.toml"
    file.write_text("objective_tolerance = 100")
    done = boundmark("compare", finished_run, worse_run, "--thresholds", file)
    assert "## Advice" in done.stdout
    file.write_text("objective_tolerance = -1")
    done = boundmark("compare", finished_run, worse_run, "--thresholds", file, check=False)
    assert done.returncode == 2
    assert "objective_tolerance is -1; expected a number" in " ".join(done.stderr.split())


def test_what_is_no_run_is_told_before_anything_is_checked(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """Nobody waits for the checks of one run to hear that the other is not there."""
    for path, message in ((tmp_path / "none", "does not exist"), (tmp_path, "is not a results fo")):
        done = boundmark("compare", finished_run, path, check=False)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
        assert "documents" not in done.stderr


def test_folders_that_cannot_be_made_are_one_sentence(
    boundmark: Boundmark, finished_run: Path
) -> None:
    """For the comparison and for the baseline."""
    for command in (
        ("compare", finished_run, finished_run, "--out", "/proc/out"),
        ("baseline", finished_run, "/proc/out/base.parquet"),
    ):
        done = boundmark(*command, check=False)
        assert done.returncode == 2
        assert "/proc/out cannot be written: No such file or directory." in done.stderr


def test_nothing_to_compare_is_told(
    boundmark: Boundmark, suite_file: Path, finished_run: Path, tmp_path: Path
) -> None:
    """Another time limit makes other tasks: exit code 3, and the reason."""
    out = tmp_path / "other"
    boundmark(
        "run", suite_file, "--out", out, "--quiet", "--filter", "mean-work", "--time-limit", 9
    )
    done = boundmark("compare", finished_run, out, check=False)
    assert done.returncode == 3
    assert "# Nothing compared" in done.stdout
    assert "other limits" in done.stdout


def test_failures_make_run_and_report_fail_if_asked(
    boundmark: Boundmark, suite_file: Path, tmp_path: Path
) -> None:
    """Over the statuses that are named, also when the tasks were stored before.

    Failures are kept unless asked for; `--retry` replaces their rows.
    """
    out = tmp_path / "out"
    suite = tmp_path / "long.toml"
    suite.write_text(suite_file.read_text().replace("random-100", "random-10000"))
    arguments = (
        "run", suite, "--out", out, "--quiet", "--filter", "squeezenet k=4 random-10000",
        "--memory-limit", 0.01,
    )  # fmt: skip
    assert "1 oom" in boundmark(*arguments, "--fail-on", "timeout,crashed,error").stdout
    for command in (arguments, ("report", out, "--quiet")):
        done = boundmark(*command, "--fail-on", "timeout,oom", check=False)
        assert done.returncode == 1
        assert "failed: 1 oom" in done.stderr
    assert "1 already stored, 0 run" in boundmark(*arguments).stdout
    assert "0 already stored, 1 run (1 oom)" in boundmark(*arguments, "--retry", "oom").stdout
    assert len(ResultStore.open(out).results()) == 1
    done = boundmark("report", out, "--fail-on", "slow", check=False)
    assert "'slow' is not one of timeout" in " ".join(done.stderr.split())


@pytest.mark.slow
def test_runs_are_followed_in_a_history(
    boundmark: Boundmark, finished_run: Path, tmp_path: Path
) -> None:
    """A run is there once however often it is reported, and its machine was measured."""
    copy = tmp_path / "first"
    shutil.copytree(finished_run, copy)
    history = tmp_path / "deep" / "history.parquet"
    for folder in (copy, copy):
        boundmark("report", folder, "--history", history, "--quiet", "--format", "md")
    text = (copy / "report.md").read_text()
    (table,) = (part for part in text.split("\n## ") if part.startswith("Trends"))
    assert table.count("| small |") == 1
    assert len(list((copy / "machine").glob("*.json"))) == 1
    history.write_text("nothing")
    done = boundmark("report", copy, "--history", history, check=False)
    assert done.returncode == 2
    assert "cannot be read as Parquet; expected a history of runs" in " ".join(done.stderr.split())
