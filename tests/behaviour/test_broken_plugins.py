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


TAKEN = """
import click
from boundmark.problems.method import Method
from boundmark.problems.pipeline import PROBLEM
METHOD = Method("fractional-load", "pipeline", "bound", "Evil.", run=print)

@click.command("run")
def command():
    "Evil."
"""

ODD = """
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dataset import Dataset
from boundmark.problems.method import Method

def load(name):
    raise KeyError(name)

LISTS_NOT = Dataset("odd", ComputationGraph, "Odd.", lambda: 1 // 0, lambda name: None)
LOADS_NOT = Dataset("strange", ComputationGraph, "Strange.", lambda: 3, load)
SLASH = lambda: Dataset("a/b", ComputationGraph, "Odd.", tuple, load)
METHOD = lambda: Method("odd", "pipeline", "guess", "Odd.", run=load)
"""


def test_what_is_wrong_is_left_out_or_named(tmp_path: Path) -> None:
    """Names that are ours stay ours, and other packages are listed as far as they can be.

    A data set that cannot list its members is shown with the reason; the sentence about one that
    loads none names it, too. What is no method or data set is left out as soon as it is made.
    """
    taken = {"methods": "METHOD", "problems": "PROBLEM", "commands": "command"}
    points = {f"boundmark.{group}": {"it": f"taken:{name}"} for group, name in taken.items()}
    install(tmp_path, "taken", points, TAKEN)
    own = {"odd": "odd:LISTS_NOT", "strange": "odd:LOADS_NOT"}
    install(tmp_path, "odd", {"boundmark.datasets": own}, ODD)
    for group, made in (("methods", "METHOD"), ("datasets", "SLASH")):
        name = f"wrong_{group}"
        install(
            tmp_path, name, {f"boundmark.{group}": {"it": f"{name}:IT"}}, ODD + f"IT = {made}()"
        )
    boundmark = boundmark_with(tmp_path)
    for command, sentences, listed in (
        ("methods", ("'fractional-load' is taken; expected a name of its own.",
                     "kind of method 'odd' is 'guess'; expected heuristic or bound"), "uniform"),
        ("problems", ("'pipeline' is taken",), "microbatch"),
        ("--help", ("'run' is taken",), "solve"),
        ("datasets", ("warning: data set 'odd' does not list its members: ZeroDivisionError",
                      "a data set is called 'a/b'; expected a text without a slash."), "shapes"),
    ):  # fmt: skip
        done = boundmark(command)
        assert "Evil" not in done.stdout
        assert listed in done.stdout
        assert [one for one in sentences if one not in done.stderr] == []
    for given, sentence in (
        (("solve", "odd/x", "-k", 2), "odd/x is a NoneType; expected a ComputationGraph, as its"),
        (("solve", "strange/x", "-k", 2), "data set 'strange' does not load 'x': KeyError: 'x'"),
        (("datasets", "--members", "strange"), "'strange' does not list its members: TypeError"),
    ):
        done = boundmark(*given, check=False)
        assert done.returncode == 2
        assert sentence in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
