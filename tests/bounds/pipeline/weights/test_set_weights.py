"""Tests of walks among convex sets, and of the weights that are computed from what they find."""

import numpy as np
import pytest
from brute_force import stage_cost
from brute_force_sets import is_convex, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.weights.known_sets import (
    POSITIONS,
    KnownSets,
    WalkSettings,
    as_mask,
)
from boundmark.bounds.pipeline.weights.set_weights import SetWeights
from boundmark.bounds.pipeline.weights.tensors import ANY, FIRST, LAST, Tensors, bits_of
from boundmark.datasets.pipeline import regal_style
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


@pytest.mark.parametrize("has_ends", [False, True])
@given(sample=tiny_graphs(params=False), limit=st.integers(1, 60), k=st.integers(2, 4))
def test_weights_of_all_sets_found(
    sample: PipelineInstance, limit: int, k: int, has_ends: bool
) -> None:
    """Sets are convex and cost what is said; those within the limit weigh at most 1.

    Weights call for their sum of stages, or for two and what is left when the ends are full.
    """
    n = sample.nodes
    weights = SetWeights(Tensors.of(sample.graph), k, 1, has_ends=has_ends)
    start = np.full(n, k / n)
    weighing = weights.at(limit, start, Budget(20.0))
    for members, cost in weights.known.costs.items():
        nodes = frozenset(bits_of(members))
        assert is_convex(sample, nodes)
        assert cost == stage_cost(sample, set(nodes)) <= limit
        assert weighing.weights[list(nodes)].sum() <= 1 + 1e-9
    needed = weighing.weights.sum()
    if has_ends:
        ends = [weights.known.heaviest(weighing.weights, limit, end) for end in (FIRST, LAST)]
        needed += 2 - sum(ends)
    assert np.isclose(needed, weighing.lower)
    assert weighing.lower <= weighing.upper + 1e-6


@given(sample=tiny_graphs(params=False), data=st.data())
def test_walks_find_sets_for_a_position(sample: PipelineInstance, data: st.DataObject) -> None:
    """The first stage has all its producers, the last one all its consumers."""
    n, edges = sample.nodes, sample.graph.dag.edge_pairs().tolist()
    position = data.draw(st.sampled_from(POSITIONS))
    known, limit = KnownSets(Tensors.of(sample.graph), 1), data.draw(st.integers(1, 60))
    weights = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=n, max_size=n)))
    known.walk(weights, limit, position, Budget(20.0))
    weighed = known.weighed(weights, limit, position)
    found = [
        members for members, weight in zip(known.costs, weighed.tolist(), strict=True) if weight
    ]
    for members in found:
        nodes = set(bits_of(members))
        if position == FIRST:
            assert all(u in nodes for u, w in edges if w in nodes)
        if position == LAST:
            assert all(w in nodes for u, w in edges if u in nodes)
        assert sum(weights[list(nodes)]) <= known.heaviest(weights, limit, position) + 1e-9
    if position != FIRST and any(
        stage_cost(sample, {v}) <= limit for v in range(n) if all(u != v for u, _ in edges)
    ):
        assert found


@pytest.mark.parametrize("annealed", [0.0, 1.0])
@given(sample=tiny_graphs(params=False), data=st.data())
def test_either_kind_of_walk_finds_the_heaviest_set(
    sample: PipelineInstance, annealed: float, data: st.DataObject
) -> None:
    """Of a tiny graph, in a few rounds: the best node in each step, or annealing."""
    n, limit = sample.nodes, data.draw(st.integers(1, 60))
    position = data.draw(st.sampled_from(POSITIONS))
    weights = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=n, max_size=n)))
    tensors = Tensors.of(sample.graph)
    everything = KnownSets(tensors, 1)
    for members in range(1, 1 << n):
        if is_convex(sample, frozenset(bits_of(members))):
            everything.add(members)
    known = KnownSets(tensors, 1, WalkSettings(annealed=annealed))
    for _ in range(5):
        known.walk(weights, limit, position, Budget(20.0))
    heaviest = everything.heaviest(weights, limit, position)
    assert known.heaviest(weights, limit, position) == pytest.approx(heaviest)


def test_walks_where_nothing_weighs_anything() -> None:
    """Weights in proportion to work are 0 at first in a graph without work."""
    graph = regal_style.load("erdos-renyi-1")
    known = KnownSets(Tensors.of(graph), 1, WalkSettings(annealed=1.0))
    known.walk(np.zeros(graph.dag.nodes), 100, ANY, Budget(20.0))
    assert known.heaviest(np.zeros(graph.dag.nodes), 100) == 0.0


def test_annealing_finds_heavier_sets_where_transfers_outweigh_work() -> None:
    """As many walks with the best node in each step take as long."""
    graph = regal_style.load("erdos-renyi-107-plain")
    limit = 2000
    weights = np.full(graph.dag.nodes, 16 / graph.dag.nodes)
    heaviest = []
    for annealed in (0.0, 1.0):
        known = KnownSets(Tensors.of(graph), 1, WalkSettings(annealed=annealed))
        for _ in range(3):
            known.walk(weights, limit, ANY, Budget(60.0))
        heaviest.append(known.heaviest(weights, limit))
    assert heaviest[0] < heaviest[1]


@given(sample=tiny_graphs(params=False), k=st.integers(1, 4), first=st.none() | st.integers(1, 60))
def test_weights_for_the_largest_threshold(
    sample: PipelineInstance, k: int, first: int | None
) -> None:
    """It is between what is refuted and a cost; no set handed over costs or weighs more."""
    everything = set(range(sample.nodes))
    refuted, above = 0, stage_cost(sample, everything) + 2
    weights = SetWeights(Tensors.of(sample.graph), k, 1)
    work = np.full(sample.nodes, k / sample.nodes)
    found = weights.for_largest((refuted, above), 0, work, Budget(20.0), first)
    assert refuted < found.threshold < above
    weighed = [found.weights[list(bits_of(members))].sum() for members in found.sets]
    assert weighed == pytest.approx(sorted(weighed, reverse=True))
    assert max(weighed, default=0.0) <= 1 + 1e-9
    for members in found.sets:
        assert stage_cost(sample, set(bits_of(members))) <= found.threshold


@given(sample=tiny_graphs(params=False))
def test_sets_added_count_once(sample: PipelineInstance) -> None:
    """The empty set says nothing; others are new the first time, and weigh at most 1 from then."""
    weights = SetWeights(Tensors.of(sample.graph), 2, 1)
    everything = (1 << sample.nodes) - 1
    assert not weights.known.add(0)
    assert weights.known.add(everything)
    assert not weights.known.add(everything)
    limit = stage_cost(sample, set(range(sample.nodes)))
    weighing = weights.at(limit, np.ones(sample.nodes), Budget(20.0))
    assert weighing.lower <= 1 + 1e-9


@given(sample=tiny_graphs())
def test_costs_are_those_of_stages(sample: PipelineInstance) -> None:
    """Of any set, with overflow, too."""
    known = KnownSets(Tensors.of(sample.graph), 1)
    for members in range(1, 1 << sample.nodes):
        known.add(members)
        assert known.costs[members] == stage_cost(sample, set(bits_of(members)))


def test_a_set_as_an_array() -> None:
    """Its members are true."""
    assert as_mask(0b101, 4).tolist() == [True, False, True, False]
