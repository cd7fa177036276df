"""Prices over modules that were searched."""

import numpy as np
from brute_force_placement import instance, optimum
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_strategies import instances
from recording import Recorder, record
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.placement import path_prices
from boundmark.bounds.placement.path_prices import UNITS, Prices, arcs_of, rounded
from boundmark.bounds.placement.series.certificate import affordable
from boundmark.bounds.placement.series.method import ClosingIn
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]


def closing_in(edges: list[tuple[int, int]], **limits: list[int]) -> ClosingIn:
    """Return a chain of two modules, each a fork of two branches, of which all is proven."""
    rows = [[2, 3], [5, 6], [6, 5], [1, 2], [6, 5], [5, 6], [2, 2]]
    modules = [*FORK_JOIN, *((u + 3, v + 3) for u, v in FORK_JOIN)]
    sample = instance(rows, [*modules, *edges], times=[[0, 3, 2, 0]], **limits)
    closing = ClosingIn.of(sample, Budget(600), Best(sample, Recorder()), "a test")
    closing.run()
    return closing


def test_modules_say_more_than_intervals() -> None:
    """Three equal branches take two devices as long as two; fractions of them take less."""
    edges = [(0, v) for v in (1, 2, 3)] + [(v, 4) for v in (1, 2, 3)]
    sample = instance([[2, 2], [6, 6], [6, 6], [6, 6], [1, 1]], edges)
    closing = ClosingIn.of(sample, Budget(600), Best(sample, Recorder()), "a test")
    closing.run()
    plain, searched = Recorder(), Recorder()
    path_prices.run(sample, Budget(60), 1, Best(sample, plain))
    path_prices.report_with_modules(sample, closing, Budget(60), Best(sample, searched))
    document = searched.bounds[-1].to_json()
    assert checker.check_certificate(sample.to_json(), document) >= document["bound"]
    assert plain.bounds[-1].bound < document["bound"] <= optimum(sample)


def test_what_a_chain_does_not_see() -> None:
    """A tensor past a module, an operator beside it, and memory that is short."""
    assert closing_in([]).sees_all
    assert not closing_in([(0, 4)]).sees_all
    assert not closing_in([], memory=[1] * 7, capacity=[4, 6]).sees_all
    assert closing_in([], memory=[1] * 7, capacity=[4, 7]).sees_all


def test_the_longest_searches_are_left_out() -> None:
    """What is left proves what the searches that are left do."""
    parts = closing_in([]).parts
    steps = sorted(proof.steps for part in parts for proof in part.proofs.values())
    assert steps
    kept = affordable(parts, sum(steps) - 1)
    assert sorted(proof.steps for part in kept for proof in part.proofs.values()) == steps[:-1]
    for part in kept:
        for pair, ticks in part.least.items():
            assert ticks == part.by_paths[pair] or part.proofs[pair].threshold + 1 == ticks
    assert affordable(parts, 0) == []


def proven(recorder: Recorder) -> list[int]:
    """Return the bounds that were reported."""
    return [int(bound.bound) for bound in recorder.bounds]


@settings(max_examples=examples(100), deadline=None)
@given(instances(), st.data())
def test_any_prices_make_a_certificate(sample: PlacementInstance, data: st.DataObject) -> None:
    """Whatever a solver returns, paths are whole after rounding, and what is left is proven."""
    graph = sample.graph
    arcs = arcs_of(graph, [])
    dice = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    work = dice.uniform(0, 1, graph.devices) * dice.integers(0, 2, graph.devices)
    prices = Prices(
        paths=dice.uniform(0, 1, len(arcs.first)) * dice.integers(0, 2, len(arcs.first)),
        work=work / (1 + work.sum()),
        memory=dice.uniform(0, 1, graph.devices),
        near=dice.normal(size=(len(arcs.first), graph.devices)),
        far=dice.normal(size=(len(arcs.first), graph.devices)),
    )
    payload = {"intervals": [], **rounded(graph, arcs, prices)}
    leaving = sum(row[2] for row in payload["arcs"] if row[0] == -1)
    assert leaving + sum(payload["work"]) == UNITS
    document = {
        "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
        "problem": "placement", "kind": "path-prices/1", "payload": payload, "producer": "a test",
    }  # fmt: skip
    assert checker.check_certificate(sample.to_json(), document) >= 0


@settings(max_examples=examples(25), deadline=None)
@given(instances(most_nodes=4))
def test_never_below_paths_and_never_above_the_optimum(sample: PlacementInstance) -> None:
    """A single path is one choice of prices, so the best ones prove at least as much."""
    bounds = proven(record("path-prices", sample))
    paths = proven(record("critical-path", sample))
    assert max(paths) - 1 <= max(bounds) <= optimum(sample)


def test_memory_that_paths_do_not_see() -> None:
    """The fast device has room for two of four operators in a row: two have to be slow."""
    rows, edges = [[1, 9]] * 4, [(0, 1), (1, 2), (2, 3)]
    sample = instance(rows, edges, times=[[0, 0, 0, 0]], memory=[1] * 4, capacity=[2, 4])
    assert max(proven(record("critical-path", sample))) == 4
    assert max(proven(record("path-prices", sample))) == 20 == optimum(sample)


def test_loads_of_intervals_are_used() -> None:
    """Without them, half an operator can be on each device, and its branch with it."""
    sample = instance([[1, 1], [5, 5], [5, 5], [1, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    first, last = proven(record("path-prices", sample))
    assert first == 7 < last == 12 == optimum(sample)
