"""Tests of `cut-tree`: every certificate is accepted and none exceeds the optimum."""

import itertools
import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from brute_force import optimum
from certified import pipeline
from recording import Recorder

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.weights import cut_tree as method
from boundmark.bounds.pipeline.weights.cut_tree import CutTreeSettings
from boundmark.bounds.pipeline.weights.cut_trees import TreeSettings
from boundmark.problems import method as methods
from boundmark.problems.certificate import Certificate
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
    """A look at the clock takes a second, and trees look after each branch: few looks are in vain.

    Trees that begin at the threshold of their weights find sets, lower ones take all the time.
    """
    looks = itertools.count()
    monkeypatch.setattr(methods, "time", SimpleNamespace(monotonic=lambda: float(next(looks))))
    sample = PipelineInstance(random_graph(40, seed=1), 3)
    for first_part, seconds in itertools.product((0.8, 1.0), (50, 200, 800)):
        begun = next(looks)
        steps = CutTreeSettings(first_part, TreeSettings(most_numbers=2**16, turn=40))
        run(sample, seconds, steps)
        assert seconds < next(looks) - begun < seconds + 20


def test_trees_too_long_to_check_are_not_reported(
    random_graph: Callable[..., PipelineGraph],
) -> None:
    """What the checker would refuse for its steps is given up; shares still count."""
    sample = PipelineInstance(random_graph(12, seed=1), 3)
    reports = run(
        sample, 20, CutTreeSettings(tree=TreeSettings(most_steps=100, most_numbers=2**10))
    )
    assert [report.kind for report in reports] == ["fractional-load/1"]


def test_begins_above_what_is_proven(random_graph: Callable[..., PipelineGraph]) -> None:
    """A bound of another method is not proven again, and a known cost ends the search."""
    sample = PipelineInstance(random_graph(12, seed=1), 3)
    shares, most = share_table(sample.graph).bound(3), run(sample, 20)[-1].bound
    known, reports = (shares + most) // 2, Recorder()
    best = Best(sample, reports, certified=known)
    method.run(sample, Budget(20), 0, best, SMALL)
    assert all(report.bound > known for report in reports.bounds)
    assert best.certified > known
    reports = Recorder()
    method.run(sample, Budget(LONG), 0, Best(sample, reports, objective=known), SMALL)
    assert reports.bounds[-1].bound == known
