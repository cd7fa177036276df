"""What is installed beside boundmark may be broken; commands say so in a line and go on."""

import json
from pathlib import Path

import pytest
from command_line import SUITE, Boundmark, boundmark_with
from plugin_packages import install

BREAKAGES = {
    "no-import": ("broken:THING", "import no_such_module"),
    "raises": ("broken:THING", "raise RuntimeError('in two\\nlines')"),
    "exits": ("broken:THING", "import sys\nsys.exit('bye')"),
    "no-attribute": ("broken:THING", ""),
    "wrong-type": ("broken:THING", "THING = 3"),
}


@pytest.fixture(params=BREAKAGES)
def neighbour(request: pytest.FixtureRequest, tmp_path: Path) -> Boundmark:
    """Return the command line beside a package that is broken in every group."""
    value, code = BREAKAGES[request.param]
    groups = ("problems", "methods", "datasets", "answers", "commands")
    install(tmp_path, "broken", {f"boundmark.{group}": {"it": value} for group in groups}, code)
    return boundmark_with(tmp_path)


def warnings(stderr: str) -> list[str]:
    """Return the groups that lines on standard error are about; there is nothing else."""
    lines = stderr.splitlines()
    assert all(line.startswith("warning: left out entry point 'it' (boundmark.") for line in lines)
    assert all(" of package broken: " in line for line in lines)
    return [line.partition("(boundmark.")[2].partition(")")[0] for line in lines]


@pytest.mark.slow
def test_commands_work(neighbour: Boundmark) -> None:
    """Each command tells once of what it looked for, and prints what it always prints."""
    for command, expected in (
        (("methods", "--json"), ["methods"]),
        (("datasets", "--json"), ["datasets", "problems"]),
        (("problems", "--json"), ["problems"]),
    ):
        done = neighbour(*command)
        assert len(json.loads(done.stdout)) > 1
        assert sorted(warnings(done.stderr)) == expected
    done = neighbour("--help")
    assert "microbatch" in done.stdout
    assert warnings(done.stderr) == ["commands"]
    done = neighbour("solve", "--help")
    assert "-k, --k INTEGER" in done.stdout
    assert warnings(done.stderr) == ["problems"]


@pytest.mark.slow
def test_tasks_run(tmp_path: Path) -> None:
    """Neither the runner nor the processes of tasks and checker stop at a broken package."""
    groups = ("problems", "methods", "datasets", "checkers", "answers")
    points = {f"boundmark.{group}": {"it": "broken:THING"} for group in groups}
    install(tmp_path, "broken", points, "raise SystemExit(1)")
    boundmark = boundmark_with(tmp_path)
    suite = tmp_path / "small.toml"
    suite.write_text(SUITE.partition('[[instances]]\ndataset = "onnx-light"')[0])
    done = boundmark("run", suite, "--out", tmp_path / "out", "--quiet")
    assert "24 run (24 ok)" in done.stdout
    assert sorted(warnings(done.stderr)) == ["datasets", "methods", "problems"]
    done = boundmark("solve", "onnx-light/alexnet", "-k", 2, "--method", "uniform", "--quiet")
    assert "cost  " in done.stdout
    assert sorted(warnings(done.stderr)) == ["answers", "datasets", "methods", "problems"]


def test_taken_names(tmp_path: Path) -> None:
    """What is ours stays ours; the sentence names who wanted it."""
    code = """
import click
from boundmark.problems.catalog import problems
from boundmark.problems.method import Method
METHOD = Method("fractional-load", "pipeline", "bound", "Evil.", run=print)
from boundmark.problems.pipeline import PROBLEM

@click.command("run")
def command():
    "Evil."
"""
    points = {
        "boundmark.methods": {"it": "broken:METHOD"},
        "boundmark.problems": {"it": "broken:PROBLEM"},
        "boundmark.commands": {"it": "broken:command"},
    }
    install(tmp_path, "broken", points, code)
    boundmark = boundmark_with(tmp_path)
    done = boundmark("methods")
    assert "Evil" not in done.stdout
    assert "'fractional-load' is taken; expected a name of its own." in done.stderr
    assert "'pipeline' is taken" in boundmark("problems").stderr
    done = boundmark("--help")
    assert "Evil" not in done.stdout
    assert "'run' is taken" in done.stderr


def test_a_data_set_that_cannot_list(tmp_path: Path) -> None:
    """It is listed with a question mark, and the reason; the others as always."""
    code = """
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dataset import Dataset
THING = Dataset("odd", ComputationGraph, "Odd.", lambda: 1 // 0, lambda name: None)
"""
    install(tmp_path, "odd", {"boundmark.datasets": {"odd": "odd:THING"}}, code)
    boundmark = boundmark_with(tmp_path)
    done = boundmark("datasets")
    assert "warning: data set 'odd' does not list its members: ZeroDivisionError" in done.stderr
    assert "onnx-light" in done.stdout
    done = boundmark("solve", "odd/x", "-k", 2, check=False)
    expected = "odd/x is a NoneType; expected a ComputationGraph, as its data set declares."
    assert expected in " ".join(done.stderr.split())


ODD = """
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dataset import Dataset
from boundmark.problems.method import Method

def load(name):
    raise KeyError(name)

DATASET = Dataset("odd", ComputationGraph, "Odd.", lambda: 3, load)
SLASH = lambda: Dataset("a/b", ComputationGraph, "Odd.", tuple, load)
METHOD = lambda: Method("odd", "pipeline", "guess", "Odd.", run=load)
"""


def test_a_data_set_that_cannot_load(tmp_path: Path) -> None:
    """A sentence names the data set, where it lists no members as where it loads none."""
    install(tmp_path, "odd", {"boundmark.datasets": {"odd": "odd:DATASET"}}, ODD)
    boundmark = boundmark_with(tmp_path)
    done = boundmark("solve", "odd/x", "-k", 2, check=False)
    assert "data set 'odd' does not load 'x': KeyError: 'x'" in " ".join(done.stderr.split())
    done = boundmark("datasets", "--members", "odd", check=False)
    assert done.returncode == 2
    assert "data set 'odd' does not list its members: TypeError" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_method_or_data_set_is_left_out(tmp_path: Path) -> None:
    """As soon as it is made, by the package that makes it; lists show the others."""
    points = {"boundmark.methods": {"it": "wrong:IT"}, "boundmark.datasets": {"it": "wrong:IT"}}
    install(tmp_path, "wrong", points, ODD + "IT = SLASH(), METHOD()")
    boundmark = boundmark_with(tmp_path)
    done = boundmark("datasets")
    assert "a data set is called 'a/b'; expected a text without a slash." in done.stderr
    (tmp_path / "wrong.py").write_text(ODD + "IT = METHOD()")
    done = boundmark("methods")
    assert "kind of method 'odd' is 'guess'; expected heuristic or bound" in done.stderr
    assert "uniform" in done.stdout
