"""Tests of `packing`: every certificate is accepted and none exceeds the optimum."""

import json
import re
from collections.abc import Callable
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
from boundmark.bounds.pipeline import PACKING
from boundmark.bounds.pipeline.flows.fractional_load import share_table
from boundmark.bounds.pipeline.weights import packing as method
from boundmark.bounds.pipeline.weights.packing import PackingSettings
from boundmark.bounds.pipeline.weights.weighing import PRECISION
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Seconds that are never needed, also on a machine that is busy: the method ends by itself.
LONG = 600.0


def run(sample: PipelineInstance, seconds: float = 20) -> list[Certificate]:
    """Return what the method reports: better and better, and accepted."""
    reports = Recorder()
    PACKING.run(sample, Budget(seconds), 0, reports)
    bounds = [report.bound for report in reports.bounds]
    assert bounds == sorted(set(bounds))
    for report in reports.bounds:
        stored = json.loads(json.dumps(report.to_json()))
        assert checker.check_certificate(sample.to_json(), stored) == report.bound
    return reports.bounds


@pytest.mark.parametrize(
    ("name", "share", "best", "is_loaded"),
    [
        ("packing", 19, 22, 0),
        ("packing, parameters as work", 17, 24, 1),
        ("packing, overflow of each part", 23, 32, 0),
    ],
)
def test_reaches_the_optimum(name: str, share: int, best: int, is_loaded: int) -> None:
    """Where shares do not, whichever way of counting overflow that takes."""
    _, sample = pipeline.TIGHT[name]
    reports = run(sample)
    assert (reports[0].kind, reports[0].bound) == ("fractional-load/1", share)
    assert (reports[-1].kind, reports[-1].bound) == ("packing/2", best)
    assert optimum(sample) == best
    assert reports[-1].to_json()["payload"]["loaded"] == is_loaded


@settings(max_examples=examples(40))
@given(sample=instances())
def test_between_the_share_bound_and_the_optimum(sample: PipelineInstance) -> None:
    """On graphs with every cost term, zero work and any number of stages."""
    reports = run(sample)
    assert share_table(sample.graph).bound(sample.k) <= reports[-1].bound <= optimum(sample)


@pytest.mark.parametrize("ticks", [1_000, 10**12])
def test_large_costs(ticks: int) -> None:
    """Where a unit of cost is many ticks, bounds come close to what they are with few."""
    sample = instance(
        [ticks * cost for cost in (5, 5, 6, 7, 7)],
        [(0, 2), (0, 3), (1, 4), (2, 4), (3, 4)],
        2,
        transfer=[ticks * cost for cost in (3, 2, 3, 1, 0)],
    )
    assert 0.99 * 22 * ticks < run(sample)[-1].bound <= 22 * ticks


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


def test_beats_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """On a graph of dozens of nodes, given time."""
    sample = PipelineInstance(random_graph(20, seed=1), 8)
    reports = run(sample, LONG)
    assert reports[-1].kind == "packing/2"
    assert reports[-1].bound > share_table(sample.graph).bound(8)


def test_weights_for_a_proof_may_lack_a_part(
    monkeypatch: pytest.MonkeyPatch, random_graph: Callable[..., PipelineGraph]
) -> None:
    """Where known weights fail, new ones are only as precise as a proof takes, and prove it."""
    at, attempt = method.Weigher.at, method.Refuter.attempt
    has_failed: list[bool] = []
    weighed: list[tuple[float, float, float]] = []

    def fails_once(*arguments: Any) -> Any:
        if has_failed:
            return attempt(*arguments)
        has_failed.append(True)
        return None

    def noted(self: Any, limit: int, start: Any, budget: Budget, precision: float) -> Any:
        weighing = at(self, limit, start, budget, precision)
        if has_failed:
            weighed.append((budget.wall_seconds, precision, weighing.lower))
        return weighing

    monkeypatch.setattr(method.Refuter, "attempt", fails_once)
    monkeypatch.setattr(method.Weigher, "at", noted)
    run(PipelineInstance(random_graph(20, seed=1), 8), LONG)
    seconds, precision, lower = weighed[0]
    assert seconds <= 0.3 * LONG
    assert precision > PRECISION
    assert lower > 8


def test_weights_are_for_about_the_threshold_to_prove(
    monkeypatch: pytest.MonkeyPatch, random_graph: Callable[..., PipelineGraph]
) -> None:
    """No search begins far above the threshold that weights were computed for last."""
    at, attempt = method.Weigher.at, method.Refuter.attempt
    weighed, ratios = [1], []

    def noted(self: Any, limit: int, *arguments: Any) -> Any:
        weighed.append(limit)
        return at(self, limit, *arguments)

    def compared(self: Any, weights: Any, limit: int, *others: Any) -> Any:
        ratios.append(limit / weighed[-1])
        return attempt(self, weights, limit, *others)

    monkeypatch.setattr(method.Weigher, "at", noted)
    monkeypatch.setattr(method.Refuter, "attempt", compared)
    run(PipelineInstance(random_graph(20, seed=1), 8), LONG)
    assert ratios
    assert max(ratios) <= 1.005


def test_precision_saves_proofs(random_graph: Callable[..., PipelineGraph]) -> None:
    """The last bound is as far below what weights prove as it may be, in fewer certificates."""
    sample = PipelineInstance(random_graph(20, seed=2), 8)
    all_reports, reports = run(sample, LONG), Recorder()
    method.run(sample, Budget(LONG), 0, reports, precision=0.05)
    assert len(reports.bounds) < len(all_reports)
    # Where weights end is known up to half a percent before proofs begin.
    least = all_reports[-1].bound / 1.055
    assert least <= reports.bounds[-1].bound < all_reports[-1].bound


@pytest.mark.parametrize("precision", [-0.1, -1.0, float("nan")])
def test_precision_is_not_negative(precision: float) -> None:
    """Bad values are named, and nothing is begun."""
    sample, reports = instance([1, 1], [(0, 1)], 2), Recorder()
    with pytest.raises(InvalidInputError, match=f"precision is {precision}; expected 0 or more"):
        method.run(sample, Budget(LONG), 0, reports, precision=precision)
    assert not reports.bounds


def test_no_time_leaves_the_share_bound(random_graph: Callable[..., PipelineGraph]) -> None:
    """What is cheap is reported even when the budget is spent at once."""
    reports = run(PipelineInstance(random_graph(20, seed=1), 8), 0)
    assert [report.kind for report in reports] == ["fractional-load/1"]


def test_searches_too_long_to_check_are_unsupported(
    random_graph: Callable[..., PipelineGraph],
) -> None:
    """With the estimate, and never a certificate that the checker refuses; shares still count."""
    sample = PipelineInstance(random_graph(20, seed=1), 4)
    reports = Recorder()
    with pytest.raises(UnsupportedError) as caught:
        method.run(sample, Budget(LONG), 0, reports, settings=PackingSettings(most_steps=300))
    numbers = re.search(
        r"refuting (\d+) takes .* more than 300 steps, of about ([\d,]+)", str(caught.value)
    )
    assert numbers
    assert int(numbers[1]) >= share_table(sample.graph).bound(4)
    assert int(numbers[2].replace(",", "")) > 300
    assert [report.kind for report in reports.bounds] == ["fractional-load/1"]


def test_begins_above_what_is_proven(random_graph: Callable[..., PipelineGraph]) -> None:
    """A bound of another method is not proven again."""
    sample = PipelineInstance(random_graph(20, seed=1), 8)
    unhurried = run(sample, LONG)[-1].bound
    known = (share_table(sample.graph).bound(8) + 3 * unhurried) // 4
    reports = Recorder()
    method.run(sample, Budget(LONG), 0, Best(sample, reports, certified=known))
    assert all(report.bound > known for report in reports.bounds)
    assert reports.bounds[-1].bound > known


def test_known_cost_ends_the_search(random_graph: Callable[..., PipelineGraph]) -> None:
    """No threshold at or above the cost of a partition is tried."""
    sample = PipelineInstance(random_graph(20, seed=1), 8)
    unhurried = run(sample, LONG)[-1].bound
    below = (share_table(sample.graph).bound(8) + unhurried) // 2
    reports = Recorder()
    method.run(sample, Budget(LONG), 0, Best(sample, reports, objective=below))
    assert reports.bounds[-1].bound == below


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        (limits.LARGEST_PACKING_GRAPH + 1, []),
        (1100, [(u, v) for v in range(1100) for u in range(v)]),
    ],
    ids=["nodes", "edges"],
)
def test_large_graphs_are_unsupported(nodes: int, edges: list[tuple[int, int]]) -> None:
    """What the checker would refuse is not begun."""
    sample = instance([1] * nodes, edges, 2)
    with pytest.raises(UnsupportedError, match=r"expected at most 4,096 and 524,288\."):
        run(sample)
