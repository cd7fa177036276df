"""Tests of `cut-tree`: every certificate is accepted and none exceeds the optimum."""

import json
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from brute_force import all_edge_sets, instance, instances, optimum
from certified import pipeline
from hypothesis import given, settings
from recording import Recorder
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.pipeline import limits
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.weights import cut_search as search
from boundmark.bounds.pipeline.weights import cut_tree as method
from boundmark.bounds.pipeline.weights.cut_tree import CutTreeSettings
from boundmark.bounds.pipeline.weights.cut_trees import TreeSettings
from boundmark.bounds.pipeline.weights.set_weights import Found, SetWeights
from boundmark.problems import method as methods
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Small, as a tree reserves memory for all numbers that it may write.
SMALL = CutTreeSettings(tree=TreeSettings(most_numbers=2**16))

# Seconds that are never needed, also on a machine that is busy: the method ends by itself.
LONG = 600.0


def run(
    sample: PipelineInstance, seconds: float = LONG, given_settings: CutTreeSettings = SMALL
) -> list[Certificate]:
    """Return what the method reports: better and better, and accepted."""
    reports = Recorder()
    method.run(
        sample, Budget(seconds, started=methods.time.monotonic()), 0, reports, given_settings
    )
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        stored = json.loads(json.dumps(report.to_json()))
        assert checker.check_certificate(sample.to_json(), stored) == report.bound
    return reports.bounds


@pytest.mark.parametrize(
    ("name", "share", "best", "is_loaded"),
    [
        ("cut-tree", 12, 14, 0),
        ("cut-tree, parameters as work", 16, 21, 1),
        ("cut-tree, overflow", 11, 13, 0),
    ],
)
def test_reaches_the_optimum(name: str, share: int, best: int, is_loaded: int) -> None:
    """Where shares do not, whichever way of counting overflow that takes."""
    _, sample = pipeline.TIGHT[name]
    reports = run(sample)
    assert (reports[0].kind, reports[0].bound) == ("fractional-load/1", share)
    assert (reports[-1].kind, reports[-1].bound) == ("cut-tree/2", best)
    assert optimum(sample) == best
    assert reports[-1].to_json()["payload"]["loaded"] == is_loaded


@settings(max_examples=examples(40))
@given(sample=instances())
def test_between_the_share_bound_and_the_optimum(sample: PipelineInstance) -> None:
    """On graphs with every cost term, zero work and any number of stages."""
    reports = run(sample)
    assert share_table(sample.graph).bound(sample.k) <= reports[-1].bound <= optimum(sample)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_all_graphs_up_to_four_nodes(nodes: int, k: int) -> None:
    """Including no stage to choose (k = 1) and a stage for each node (k >= n)."""
    for edges in all_edge_sets(nodes):
        sample = instance(
            [3, 0, 4, 1][:nodes],
            edges,
            k,
            transfer=[2, 7, 1, 3][:nodes],
            param_load=[0, 6, 2, 0][:nodes],
            cache=4,
        )
        best = run(sample)[-1].bound
        assert best <= optimum(sample)
        if k == 1:
            assert best == optimum(sample)


def test_nothing_to_do() -> None:
    """Without any work or tensor, the bound is 0."""
    assert run(instance([0, 0], [(0, 1)], 2, transfer=[0, 0]))[-1].bound == 0


@pytest.mark.parametrize(("nodes", "k"), [(12, 3), (20, 4)])
def test_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch, random_graph: Callable[..., PipelineGraph], nodes: int, k: int
) -> None:
    """No time passes, and each tree finds a new set, proves a threshold or gives one up.

    What stood is tried again with better weights a few times only.
    """
    monkeypatch.setattr(methods, "time", SimpleNamespace(monotonic=lambda: 0.0))
    sample = PipelineInstance(random_graph(nodes, seed=1), k)
    reports = run(sample)
    assert reports[-1].kind == "cut-tree/2"


def test_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, random_graph: Callable[..., PipelineGraph]
) -> None:
    """Time passes with each step of a tree; none is taken once it is up, also after a set is found.

    A tree that has found one goes on for as long as the tree before took, here a thousand steps.
    """
    now, proceed, ends = [0.0], search.proceed, set()

    def step(*arguments: Any) -> int:
        now[0] += 1.0
        ends.add(ended := proceed(*arguments))
        return ended

    monkeypatch.setattr(methods, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(search, "proceed", step)
    monkeypatch.setattr(method, "_Pace", partial(method._Pace, seconds=1000.0))
    # Weights so poor that the first tree finds a set.
    monkeypatch.setattr(
        SetWeights,
        "for_largest",
        lambda self, between, *others: Found(between[1] - 1, self.by_work(), ()),
    )
    sample = PipelineInstance(random_graph(40, seed=1), 3)
    steps = CutTreeSettings(tree=TreeSettings(most_numbers=2**16, turn=40), first_part=1.0)
    for seconds in (25, 50, 100, 200, 400, 800):
        now[0] = 0.0
        run(sample, seconds, steps)
        assert now[0] <= seconds
    assert search.FOUND in ends


@pytest.mark.slow
def test_trees_that_take_too_long_are_given_up(
    monkeypatch: pytest.MonkeyPatch, random_graph: Callable[..., PipelineGraph]
) -> None:
    """After twice what was expected, for a lower threshold, with time left."""
    now, tried = [0.0], list[tuple[int, bool]]()
    proceed, prove = search.proceed, method._Rise.prove

    def step(*arguments: Any) -> int:
        now[0] += 0.1
        return proceed(*arguments)

    def noted(rise: method._Rise, threshold: int) -> tuple[int, float, bool]:
        ended, part, is_new = prove(rise, threshold)
        # Without a tree, as ends alone weigh too much, no part of a certificate is needed.
        is_given_up = ended == search.RUNNING and part > 0 and not rise.budget.is_spent()
        tried.append((threshold, is_given_up))
        return ended, part, is_new

    monkeypatch.setattr(methods, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(search, "proceed", step)
    monkeypatch.setattr(method._Rise, "prove", noted)
    # Thresholds so high that trees take longer than what is expected, which is 0.3 seconds.
    monkeypatch.setattr(method._Pace, "threshold_for", lambda self, seconds, end: 10**9)
    monkeypatch.setattr(method._Pace, "note", lambda self, *arguments: None)
    sample = PipelineInstance(random_graph(60, seed=1), 4)
    tree = TreeSettings(most_numbers=2**18, turn=60)
    run(sample, 400, CutTreeSettings(tree=tree))
    given_up = next(i for i, (_, is_given_up) in enumerate(tried) if is_given_up)
    assert tried[given_up + 1][0] < tried[given_up][0]


def test_times_of_trees_by_what_weights_have_in_excess() -> None:
    """Twice the time takes a part of the distance to where nothing is in excess; it is learnt."""
    pace = method._Pace(1000.0)
    pace.note(400.0, 1.0, True, 0.01)
    assert pace.threshold_for(8.0, 2000.0) == 1800
    # Better weights are worth a higher threshold in the same time.
    assert pace.threshold_for(1.0, 2100.0) == 1700
    # Sixteen times the time at half the distance is the fourth power.
    pace.note(200.0, 16.0, True, 0.02)
    assert 3.0 < pace.power < 4.0
    assert pace.threshold_for(16.0, 2000.0) == 1800
    assert pace.longest == pytest.approx(0.8 * 16.0 / 0.02)
    # One that was given up tells about times only.
    pace.note(100.0, 300.0, False, 0.9)
    assert pace.threshold_for(16.0, 2000.0) == 1800


def test_beats_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """On a graph of dozens of nodes, and more with fewer stages."""
    for k in (2, 4):
        sample = PipelineInstance(random_graph(20, seed=1), k)
        assert run(sample, 20)[-1].bound > share_table(sample.graph).bound(k)


def test_no_time_leaves_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """What is cheap is reported even when the budget is spent at once."""
    reports = run(PipelineInstance(random_graph(20, seed=1), 8), 0)
    assert [report.kind for report in reports] == ["fractional-load/1"]


def test_trees_too_long_to_check_are_not_reported(
    random_graph: Callable[..., PipelineGraph],
) -> None:
    """What the checker would refuse for its steps is given up; shares still count."""
    sample = PipelineInstance(random_graph(20, seed=1), 4)
    reports = run(
        sample, 20, CutTreeSettings(tree=TreeSettings(most_steps=300, most_numbers=2**12))
    )
    assert [report.kind for report in reports] == ["fractional-load/1"]


def test_begins_above_what_is_proven(random_graph: Callable[..., PipelineGraph]) -> None:
    """A bound of another method is not proven again, and a known cost ends the search."""
    sample = PipelineInstance(random_graph(20, seed=1), 4)
    shares, most = share_table(sample.graph).bound(4), run(sample, 20)[-1].bound
    known, reports = (shares + most) // 2, Recorder()
    best = Best(sample, reports, certified=known)
    method.run(sample, Budget(20), 0, best, SMALL)
    assert all(report.bound > known for report in reports.bounds)
    assert best.certified > known
    reports = Recorder()
    method.run(sample, Budget(LONG), 0, Best(sample, reports, objective=known), SMALL)
    assert reports.bounds[-1].bound == known


def test_large_graphs_are_unsupported() -> None:
    """What the checker would refuse is not begun."""
    sample = instance([1] * (limits.LARGEST_CUT_GRAPH + 1), [], 2)
    with pytest.raises(UnsupportedError, match=r"expected at most 4,096\."):
        run(sample)
