"""How `solve` shows slicings."""

import dataclasses
import re

import pytest
from brute_force_slicing import HALO, instance, needs

from boundmark.benchmarks import slicing
from boundmark.benchmarks.answer import Answer
from boundmark.benchmarks.suite import NamedInstance

SAMPLE = instance(
    [4, 4], [[8, 8], [4, 4]], [needs(0, 1, 4, HALO, 2)], weights=[3, 5], output=[2, 1],
    capacity=[20, 40],
)  # fmt: skip
ANSWER = Answer(
    source=NamedInstance("made", "up", SAMPLE),
    objective=8, certified_bound=7, claimed_bound=None,
    solution={"vectors": [[0, 2, 4], [0, 2, 4]]},
    certificate=None, method="hand", bound_method="hand", seconds=1.0, failures=(),
)  # fmt: skip


def test_a_line_for_each_device(capsys: pytest.CaptureFixture[str]) -> None:
    """What it computes, its share of the latency, what it receives, how full it is."""
    slicing.print_solution(ANSWER)
    lines = [re.split(r" {2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [
        "device", "operators", "computing", "share", "communicating", "received", "memory", "full",
    ]  # fmt: skip
    # While the second runs: its parameters and output, the first one's output, and the halo.
    assert lines[1] == ["d0", "2", "6", "75%", "2", "2", "13", "65%"]
    assert lines[2] == ["d1", "2", "6", "75%", "2", "2", "13", "32%"]
    assert lines[3] == ["operators by number of parts: 2 in 2"]
    assert (slicing.PRESENTATION.objective_name(ANSWER), slicing.PRESENTATION.unit(ANSWER)) == (
        "latency",
        "",
    )


def test_facts() -> None:
    """Programs get the same numbers."""
    same = {"operators": 2, "computing": 6, "communicating": 2, "received": 2, "memory": 13}
    assert slicing.facts(ANSWER) == {
        "parts": [0, 2],
        "devices": [{"name": "d0", **same}, {"name": "d1", **same}],
        "order": None,
    }


def test_without_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is shown."""
    nothing = dataclasses.replace(ANSWER, solution=None, objective=None)
    slicing.print_solution(nothing)
    assert capsys.readouterr().out == ""
    assert slicing.facts(nothing) == {"devices": None, "parts": None, "order": None}
