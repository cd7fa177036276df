import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from brute_force import instance, optimum
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker import budget
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.prefixes import mip_tree
from boundmark.bounds.pipeline.prefixes.mip_tree import LARGEST_GRAPH, next_report_at
from boundmark.bounds.pipeline.prefixes.search import Point, Program, Search
from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def test_beats_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """On a graph too large to finish, each report is better than the last one and is accepted."""
    sample = PipelineInstance(random_graph(60, seed=1), 4)
    reports = Recorder()
    mip_tree.run(sample, Budget(3), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    assert bounds[-1] > share_table(sample.graph).bound(4)
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound


def test_a_finished_tree_proves_the_optimum() -> None:
    """Leaves of older thresholds, solved again, leave nothing of a small graph's gap."""
    edges = [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 3), (2, 5), (4, 5)]
    sample = instance([7, 5, 3, 4, 6, 6], edges, 5, transfer=[5, 1, 2, 3, 2, 4])
    reports = Recorder()
    mip_tree.run(sample, Budget(20), 0, reports)
    assert reports.bounds[-1].bound == optimum(sample)


@pytest.mark.parametrize("lie", ["optimum", "multipliers", "both"])
def test_a_solver_that_lies_makes_nothing_worse(
    random_graph: Callable[..., PipelineGraph], monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    """Only what the checker makes of the multipliers counts, and only if it is an improvement."""
    solve = Program.solve

    def lying(self: Program, *arguments: Any) -> Point:
        point = solve(self, *arguments)
        if lie != "multipliers":
            point = replace(point, optimum=2 * point.optimum)
        if lie != "optimum":
            point = replace(point, multipliers=np.roll(point.multipliers, 1))
        return point

    monkeypatch.setattr(Program, "solve", lying)
    sample = PipelineInstance(random_graph(30, seed=1), 4)
    reports = Recorder()
    mip_tree.run(sample, Budget(2), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound


def test_a_missing_solver_leaves_the_share_bound(
    random_graph: Callable[..., PipelineGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs no solver is reported before the method gives up."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    reports = Recorder()
    with pytest.raises(UnsupportedError, match="solver module highspy is not installed"):
        mip_tree.run(
            PipelineInstance(random_graph(20, seed=1), 2),
            Budget(5),
            0,
            reports,
        )
    assert [report.kind for report in reports.bounds] == ["fractional-load/1"]


def test_no_time_leaves_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """What is cheap is reported even when the budget is spent at once."""
    sample = PipelineInstance(random_graph(60, seed=1), 4)
    reports = Recorder()
    mip_tree.run(sample, Budget(0), 0, reports)
    assert reports.bounds[0].kind == "fractional-load/1"


def test_without_time_no_program_is_set_up(
    monkeypatch: pytest.MonkeyPatch, random_graph: Callable[..., PipelineGraph]
) -> None:
    """That takes a second on thousands of nodes, though the solver would stop at once."""

    def unexpected(*arguments: object) -> None:
        raise AssertionError("a program is set up")

    monkeypatch.setattr(mip_tree, "Program", unexpected)
    sample = PipelineInstance(random_graph(20, seed=1), 4)
    table = share_table(sample.graph)
    mip_tree.run(sample, Budget(0), 1, Recorder(), tables=lambda graph, budget: table)


def test_what_the_checker_would_refuse_is_not_tried() -> None:
    """The limits of the checker are the method's."""
    nodes = LARGEST_GRAPH + 1
    ones = frozen([1] * nodes)
    names = tuple(map(str, range(nodes)))
    graph = PipelineGraph.without_parameters(Dag.from_edges(nodes, []), ones, ones, names)
    with pytest.raises(UnsupportedError, match="has 4097 nodes or stages; expected at most 4096"):
        mip_tree.run(PipelineInstance(graph, 2), Budget(1), 0, Recorder())


def test_a_tree_does_not_outgrow_the_checker(
    random_graph: Callable[..., PipelineGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can no longer be checked is not reported, and the method ends."""
    sample = PipelineInstance(random_graph(40, seed=1), 3)
    monkeypatch.setattr(budget, "MOST_STEPS", 4000)
    reports = Recorder()
    mip_tree.run(sample, Budget(20), 0, reports)
    assert reports.bounds
    for report in reports.bounds:
        assert checker.check_certificate(sample.to_json(), report.to_json()) == report.bound


@dataclass(frozen=True)
class _Looks(Budget):
    """A budget whose clock goes on by a second whenever a method looks at it."""

    looks: "itertools.count[int]" = field(default_factory=itertools.count)

    def remaining(self) -> float:
        return max(0.0, self.wall_seconds - next(self.looks))

    def spent(self) -> float:
        return float(next(self.looks))


def test_a_tree_reports_early_in_a_long_time(
    random_graph: Callable[..., PipelineGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When reports are due depends on the tree's own time, not on how much time is left.

    Otherwise a tree that has short turns of a long time would never show what it is worth.
    """
    sample = PipelineInstance(random_graph(60, seed=1), 4)
    due: list[float] = []

    def recorded(spent: float, check: float) -> float:
        due.append(next_report_at(spent, check))
        return due[-1]

    monkeypatch.setattr(mip_tree, "next_report_at", recorded)
    steps = 0
    grow = Search.grow

    def few_steps(search: Search) -> bool:
        nonlocal steps
        steps += 1
        return steps <= 60 and grow(search)

    monkeypatch.setattr(Search, "grow", few_steps)
    mip_tree.run(sample, _Looks(1_000_000), 0, Recorder())
    assert len(due) > 3
    assert max(due) < 10_000


def test_reports_leave_most_of_the_time_to_the_tree() -> None:
    """The next one is due after a part of the time so far, or after many times a slow check."""
    assert next_report_at(8.0, 0.0) == 10.0
    assert next_report_at(8.0, 0.1) == 10.0
    assert next_report_at(8.0, 1.0) == 18.0


def test_no_check_begins_without_time_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns of other methods may have used up what a tree had kept for a check."""

    def payload(tree: mip_tree.Tree, threshold: int) -> None:
        tried.append(threshold)

    tried: list[int] = []
    sample = instance([1, 1], [(0, 1)], 2)
    monkeypatch.setattr(mip_tree.Tree, "_payload", payload)
    best = Best(sample, Recorder())
    tree = mip_tree.Tree(sample, share_table(sample.graph), Budget(2), best)
    for seconds, expected in ((0.0, [8]), (1.0, [8]), (3.0, [])):
        tried.clear()
        tree.seconds = seconds
        assert tree.report(8) == 0
        assert tried == expected
