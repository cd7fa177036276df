"""A problem in a package of its own, which nothing in boundmark names: `tests/toy`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Boundmark, boundmark_with

from boundmark.bounds import checker
from boundmark.reports.stored.store import ResultStore

TESTS = Path(__file__).parents[1]
TOY = TESTS / "toy"

SUITE = """
description = "Jobs by seed and in files, for both goals."
problem = "one-machine"
time_limit_seconds = 60
memory_limit_gib = 1
methods = ["subset", "largest-tail"]

[[instances]]
dataset = "jobs"
members = ["random-1", "random-2"]
k = [1, 3]
goal = ["makespan", "delivery"]

[[instances]]
file = "stored/*.json"
goal = ["delivery"]
"""


@pytest.fixture(scope="module")
def toy() -> Boundmark:
    """Return the command line where the problem is installed."""
    return boundmark_with(TOY)


@pytest.fixture(scope="module")
def run(toy: Boundmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results folder of a suite, made from nothing but its name and files."""
    folder = tmp_path_factory.mktemp("jobs")
    toy("solve", "jobs/random-9", "-k", 2, "--out", folder / "solved", "--quiet")
    shutil.copytree(folder / "solved" / "instances", folder / "stored")
    (folder / "jobs.toml").write_text(SUITE)
    toy("run", folder / "jobs.toml", "--out", folder / "out", "--quiet")
    return folder / "out"


def test_listings(toy: Boundmark) -> None:
    """The problem, its methods and its data set are listed, and who can use it."""
    listed = {
        command: {
            next(iter(row.values())): row for row in json.loads(toy(command, "--json").stdout)
        }
        for command in ("problems", "methods", "datasets")
    }
    assert listed["problems"]["one-machine"]["parameters"] == "k, goal"
    assert listed["problems"]["one-machine"]["sources"] == "JobSet"
    assert {"pipeline", "microbatch"} <= set(listed["problems"])
    assert listed["methods"]["largest-tail"]["problem"] == "one-machine"
    assert listed["datasets"]["jobs"]["problems"] == "one-machine"
    assert listed["datasets"]["shapes"]["problems"] == "microbatch"


def test_options_of_solve(toy: Boundmark) -> None:
    """Parameters of a problem that a package adds stand under its name, as those of ours."""
    text = " ".join(toy("solve", "--help").stdout.split())
    assert "Parameters of pipeline: -k, --k INTEGER Number of stages." in text
    own = text.split("Parameters of one-machine:")[1]
    assert "-k, --k INTEGER How often each job is" in own
    assert "What has to be early (default makespan)" in own


def test_a_run_leaves_verified_rows(run: Path) -> None:
    """Tasks run in forked processes; a second process checks what they report."""
    rows = ResultStore.open(run).results()
    assert len(rows) == 2 * (2 * 2 * 2 + 1)
    assert (rows["status"] == "ok").all(), rows[["method", "status_detail", "stderr_tail"]]
    assert rows[rows["method"] == "subset"]["bound_certified"].notna().all()
    assert rows[rows["method"] == "largest-tail"]["objective"].notna().all()
    for _, group in rows.groupby("instance_sha256"):
        assert group["bound_certified"].max() <= group["objective"].min()
    (stored,) = {
        json.loads(text)["k"] for text in rows[rows["dataset"] == "file"]["instance_params"]
    }
    assert stored == 2


def test_a_run_is_verified_again(run: Path, toy: Boundmark, boundmark: Boundmark) -> None:
    """`verify` asks the package's checker; where it is not installed, nothing is accepted."""
    assert ", 0 rejected" in toy("verify", run).stdout
    done = boundmark("verify", run, check=False)
    assert done.returncode == 1
    assert "no package that checks it is installed" in done.stdout


@pytest.mark.slow
def test_report(run: Path, toy: Boundmark, boundmark: Boundmark) -> None:
    """Tables show the choice beside the number; by which they are divided, the package says."""
    printed = toy("report", run).stdout
    assert printed.startswith("one-machine: gap in %")
    page = (run / "report.md").read_text()
    assert "| largest-tail | heuristic |" in page
    assert "goal=delivery, k=3" in page
    assert "| goal = delivery | goal = makespan |" in " ".join(page.split())
    boundmark("report", run)
    assert "| k = 1 | k = 2 | k = 3 |" in " ".join((run / "report.md").read_text().split())


@pytest.mark.slow
def test_answers(toy: Boundmark) -> None:
    """The package says how its answer is shown, and what is in the JSON object."""
    text = toy("solve", "jobs/random-1", "-k", 2, "--goal", "delivery", "--quiet").stdout
    lines = text.splitlines()
    assert lines[0].startswith("jobs/random-1 k=2 goal=delivery: 8 nodes, 0 edges")
    assert lines[1].startswith("order            ")
    assert lines[2].startswith("delivery         ")
    answer = json.loads(toy("solve", "jobs/random-1", "--json").stdout)
    assert answer["problem"] == "one-machine"
    assert answer["first_job"] == answer["solution"]["order"][0]
    assert answer["certified_bound"] <= answer["objective"]


@pytest.mark.slow
def test_evaluate(toy: Boundmark, tmp_path: Path) -> None:
    """A package that declares nothing for it has solutions graded in their JSON form."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"order": [7, 6, 5, 4, 3, 2, 1, 0]}))
    answer = json.loads(toy("evaluate", "jobs/random-1", path, "--json").stdout)
    assert answer["bound_method"] == "subset"
    assert answer["certified_bound"] <= answer["objective"]
    assert (answer["named_solution"], answer["losses"]) == (None, [])
    path.write_text(json.dumps({"order": [0]}))
    done = toy("evaluate", "jobs/random-1", path, check=False)
    assert done.returncode == 2
    assert "the order does not have each job 1 times" in " ".join(done.stderr.split())
    path = tmp_path / "mine.csv"
    path.write_text("job,place\n0,0\n")
    done = toy("evaluate", "jobs/random-1", path, check=False)
    assert "solutions of this problem are JSON" in " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jobs/random-1", "--goal", "soon"), "goal is 'soon'; expected 'makespan' or 'delivery'."),
        (("jobs/random-1", "-k", "none"), "k is 'none'; expected an integer of at least 1."),
        (("jobs/random-1", "--memory", "1"), "memory is no parameter of problem 'one-machine'"),
        (
            ("jobs/random-1", "--problem", "pipeline", "-k", "2"),
            "jobs/random-1: a JobSet was given; problem 'pipeline' is about ComputationGraph or",
        ),
        (
            ("jobs/random-1", "--problem", "one-machin"),
            "there is no problem 'one-machin'; did you mean one-machine",
        ),
        (
            ("jobs/random-1", "--method", "slicegraph"),
            "method 'slicegraph' treats 'pipeline'; expected methods for 'one-machine'.",
        ),
        (
            ("onnx-light/alexnet", "--goal", "makespan", "-k", "2"),
            " together; 'pipeline' has k, ",
        ),
        (
            ("onnx-light/alexnet", "--problem", "pipeline", "--goal", "makespan"),
            "goal is no parameter of problem 'pipeline'",
        ),
        (("jobs/random-x",), "there are no jobs 'random-x'; expected random-SEED."),
    ],
)
def test_mistakes_are_sentences(arguments: tuple[str, ...], message: str, toy: Boundmark) -> None:
    """The package's parameters are checked like ours."""
    done = toy("solve", *arguments, check=False)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_plain_answer_without_a_presentation(toy: Boundmark, tmp_path: Path) -> None:
    """A problem that does not say how answers are shown still has them shown."""
    shutil.copytree(TOY / "one_machine", tmp_path / "one_machine")
    info = tmp_path / "one_machine-1.0.dist-info"
    shutil.copytree(TOY / info.name, info)
    points = (info / "entry_points.txt").read_text()
    assert "answers:PRESENTATION" in points
    (info / "entry_points.txt").write_text(
        "".join(line for line in points.splitlines(keepends=True) if "PRESENTATION" not in line)
    )
    lines = boundmark_with(tmp_path)("solve", "jobs/random-1", "--quiet").stdout.splitlines()
    assert lines[1].startswith("order            [")
    assert lines[2].startswith("objective        ")


def test_the_checker_alone(run: Path) -> None:
    """The checker's folder checks the files of a problem that it learns of from the package."""
    certificate = min((run / "certificates").glob("*.json"))
    instance = json.loads(certificate.read_text())["instance_sha256"]
    done = subprocess.run(
        [sys.executable, Path(checker.__file__).parent, run / "instances" / f"{instance}.json",
         certificate],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(TOY)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "accepted, OPT >= " in done.stdout


@pytest.mark.slow
def test_conformance() -> None:
    """What every registered method must do, this one's do, on instances that the package brings."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS / "conformance",
         "-k", "one-machine or largest-tail or subset"],
        capture_output=True, text=True, cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": str(TOY)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    # Three of each method and seven of the problem.
    assert "13 passed" in done.stdout
