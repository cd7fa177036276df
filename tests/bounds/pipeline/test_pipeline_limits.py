"""What methods that prove do where the checker, their solver or their time would not let them."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from brute_force import instance
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.bounds.pipeline.prefixes.search import Point, Program
from boundmark.problems.catalog import methods
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def run(method: str, sample: PipelineInstance, seconds: float) -> Recorder:
    """Return what a method reports: bounds that are better and better, and accepted."""
    reports, found = Recorder(), methods("pipeline")[method]
    try:
        found.run(sample, Budget(seconds), 0, reports, **found.params)
    finally:
        bounds = [report.bound for report in reports.bounds]
        assert bounds == sorted(set(bounds))
        for report in reports.bounds:
            assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound
    return reports


@pytest.mark.parametrize(
    ("method", "nodes", "edges", "reason"),
    [
        ("packing", 4097, 0, r"expected at most 4,096 and 524,288\."),
        ("packing", 1100, 1100, r"expected at most 4,096 and 524,288\."),
        ("cut-tree", 4097, 0, r"expected at most 4,096\."),
        ("mip-tree", 4097, 0, "has 4097 nodes or stages; expected at most 4096"),
        ("prefix-bound", 16_385, 0, "has 16385 nodes or stages; expected at most 16384"),
    ],
)
def test_what_the_checker_would_refuse_is_not_begun(
    method: str, nodes: int, edges: int, reason: str
) -> None:
    """The limits of the checker are the method's."""
    sample = instance([1] * nodes, [(u, v) for v in range(edges) for u in range(v)], 2)
    with pytest.raises(UnsupportedError, match=reason):
        run(method, sample, 1)


@pytest.mark.parametrize(("method", "solutions"), [("mip-tree", 0), ("prefix-bound", 1)])
def test_a_missing_solver_leaves_what_is_cheap(
    monkeypatch: pytest.MonkeyPatch, method: str, solutions: int
) -> None:
    """What needs no solver is reported before the method gives up."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    reports, sample = Recorder(), instance([4, 4, 5, 1], [(0, 2), (1, 3)], 2, transfer=[1, 0, 2, 5])
    with pytest.raises(UnsupportedError, match="module highspy is not installed"):
        methods("pipeline")[method].run(sample, Budget(5), 0, reports)
    assert reports.bounds
    assert len(reports.solutions) >= solutions


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("packing", "fractional-load/1"), ("cut-tree", "fractional-load/1"),
        ("mip-tree", "fractional-load/1"), ("prefix-bound", "mean-work/1"),
    ],
)  # fmt: skip
def test_no_time_leaves_what_is_cheap(
    random_graph: Callable[..., PipelineGraph], method: str, kind: str
) -> None:
    """It is reported even when the budget is spent at once."""
    reports = run(method, PipelineInstance(random_graph(60, seed=1), 4), 0)
    assert [report.kind for report in reports.bounds] == [kind]


@pytest.mark.parametrize(("method", "most_steps"), [("mip-tree", 4000), ("prefix-bound", 3000)])
def test_proofs_do_not_outgrow_the_checker(
    random_graph: Callable[..., PipelineGraph],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    most_steps: int,
) -> None:
    """What takes more steps to check than there are is not reported, and the method ends."""
    monkeypatch.setattr(budget, "MOST_STEPS", most_steps)
    assert run(method, PipelineInstance(random_graph(24, seed=1), 3), 1).bounds


@pytest.mark.parametrize("method", ["mip-tree", "prefix-bound"])
@pytest.mark.parametrize("lie", ["optimum", "multipliers"])
def test_a_solver_that_lies_proves_nothing_false(
    random_graph: Callable[..., PipelineGraph],
    monkeypatch: pytest.MonkeyPatch,
    lie: str,
    method: str,
) -> None:
    """Only what the checker makes of the multipliers counts, and only if it is an improvement."""
    solve = Program.solve

    def lying(self: Program, *arguments: Any) -> Point:
        point = solve(self, *arguments)
        if lie == "optimum":
            return replace(point, optimum=2 * point.optimum)
        return replace(point, multipliers=np.roll(point.multipliers, 1))

    monkeypatch.setattr(Program, "solve", lying)
    run(method, PipelineInstance(random_graph(24, seed=1), 3), 1)
