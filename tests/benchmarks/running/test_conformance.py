"""`boundmark conformance`: a good plugin conforms, bad ones do not, and the reason is told."""

import json
import re
from pathlib import Path

import conformance_instances
import plugin_packages
import pytest
from command_line import Boundmark, boundmark_with

from boundmark.benchmarks.running.conformance import samples_of
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError

HEAD = """
from boundmark.problems.certificate import Claim
from boundmark.problems.method import Method
from boundmark.problems.pipeline import Partition
"""

GOOD = (
    HEAD
    + """
def run(instance, budget, seed, progress):
    progress.solution(Partition([0] * instance.nodes))
METHOD = Method(name="mine", problem="pipeline", kind="heuristic", summary="One stage.", run=run)
"""
)

BAD = (
    HEAD
    + """
import itertools
COUNT = itertools.count()
def run(instance, budget, seed, progress):
    if instance.nodes > 3:
        progress.solution(Partition([0]))
    progress.bound(Claim("mine", 10.0**9))
METHOD = Method(name="mine", problem="pipeline", kind="exact", summary="Lies", run=run)
"""
)

HANGING = (
    HEAD
    + """
import time
def run(instance, budget, seed, progress):
    progress.solution(Partition([0] * instance.nodes))
    time.sleep(1000)
METHOD = Method(name="mine", problem="pipeline", kind="heuristic", summary="Sleeps.", run=run)
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "exit_code", "failing"),
    [
        (GOOD, 0, set()),
        (BAD, 1, {"is registered", "ends by itself", "reports what", "encloses the"}),
        (HANGING, 1, {"ends by itself"}),
    ],
)
def test_verdicts(tmp_path: Path, code: str, exit_code: int, failing: set[str]) -> None:
    """Of an installed package, without a checkout's tests."""
    points = {"boundmark.methods": {"mine": "mine:METHOD"}}
    plugin_packages.install(tmp_path, "mine", points, code)
    call = boundmark_with(tmp_path)
    done = call("conformance", "mine", "--seconds", "0.2", "--json", check=False)
    assert done.returncode == exit_code, done.stderr
    verdicts = json.loads(done.stdout)["verdicts"]
    failed = [one["asked"] for one in verdicts if one["failures"]]
    assert {next((x for x in failing if one.startswith(x)), one) for one in failed} == failing
    if code == BAD:
        told = " ".join(text for one in verdicts for text in one["failures"])
        assert "its summary is 'Lies'; expected a sentence" in told
        assert "a claim of 1e+09 above the optimum" in told


def test_our_own_methods_conform(boundmark: Boundmark) -> None:
    """One of them, as the command prints it."""
    done = boundmark("conformance", "max-work")
    assert done.stdout.endswith("max-work conforms\n")
    assert re.search(r"ok     reports what its kind says \(\d+ certified bounds\)\n", done.stdout)


def test_an_unknown_method(boundmark: Boundmark) -> None:
    """One sentence."""
    done = boundmark("conformance", "max-wrk", check=False)
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "Error: there is no method 'max-wrk'; did you mean max-work or mean-work or balanced-work.",
    )


def test_the_instances_are_those_of_the_tests() -> None:
    """With optima by brute force."""
    assert conformance_instances.FILE.read_text() == conformance_instances.text()


def test_a_problem_without_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says how a package brings them."""
    monkeypatch.setitem(problems(), "odd", problems()["pipeline"])
    with pytest.raises(InvalidInputError, match="no tiny instances of problem 'odd' are"):
        samples_of("odd")
