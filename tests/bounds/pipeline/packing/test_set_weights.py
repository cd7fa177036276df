"""Tests of walks among convex sets, and of the weights that are computed from what they find."""

import numpy as np
import pytest
from brute_force import stage_cost
from brute_force_sets import is_convex, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.packing.set_weights import SetWeights, as_mask
from boundmark.bounds.pipeline.packing.tensors import Tensors, bits_of
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance


@given(sample=tiny_graphs(params=False), limit=st.integers(1, 60), k=st.integers(1, 4))
def test_weights_of_all_sets_found(sample: PipelineInstance, limit: int, k: int) -> None:
    """Sets are convex and cost what is said; those within the limit weigh at most 1."""
    n = sample.nodes
    weights = SetWeights(Tensors.of(sample.graph), k, 1)
    start = np.full(n, k / n)
    weighing = weights.at(limit, start, Budget(20.0))
    for members, cost in weights.costs.items():
        nodes = frozenset(bits_of(members))
        assert is_convex(sample, nodes)
        assert cost == stage_cost(sample, set(nodes)) <= limit
        assert weighing.weights[list(nodes)].sum() <= 1 + 1e-9
    assert np.isclose(weighing.weights.sum(), weighing.lower)
    assert weighing.lower <= weighing.upper + 1e-6


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
    assert not weights.add(0)
    assert weights.add(everything)
    assert not weights.add(everything)
    limit = stage_cost(sample, set(range(sample.nodes)))
    weighing = weights.at(limit, np.ones(sample.nodes), Budget(20.0))
    assert weighing.lower <= 1 + 1e-9


@given(sample=tiny_graphs())
def test_costs_are_those_of_stages(sample: PipelineInstance) -> None:
    """Of any set, with overflow, too."""
    weights = SetWeights(Tensors.of(sample.graph), 2, 1)
    for members in range(1, 1 << sample.nodes):
        weights.add(members)
        assert weights.costs[members] == stage_cost(sample, set(bits_of(members)))


def test_a_set_as_an_array() -> None:
    """Its members are true."""
    assert as_mask(0b101, 4).tolist() == [True, False, True, False]
