"""Segmentation against every segmentation there is, and against the paper's algorithm."""

from collections.abc import Callable

import numpy as np
import pytest
import reference_segmentation
from brute_force import cost, stage_cost
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_segmentation import reference_cost, segment_transfer
from selection import examples

from boundmark.heuristics.pipeline import segmentation_kernels as kernels
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.slicegraph import has_segmentation, segment_order
from boundmark.problems.pipeline import Partition, PipelineInstance


@given(data=st.data())
@settings(max_examples=examples(150))
def test_segmentation_is_optimal(instances, all_segmentations, data) -> None:
    """Our segmentation, the paper's and the best of all cost the same."""
    instance = data.draw(instances())
    order = instance.graph.dag.topological_order
    best = min(
        cost(instance, tuple(Partition.from_segments(order, ends).stages.tolist()))
        for ends in all_segmentations(instance.nodes, instance.k)
    )
    found, ends = segment_order(instance, order)
    assert found == best == reference_cost(instance, order)
    assert instance.objective(Partition.from_segments(order, ends)) == best


@given(data=st.data())
@settings(max_examples=examples(100))
def test_has_segmentation_decides_at_every_threshold(instances, data) -> None:
    """`has_segmentation` is true from the optimum on and false below it, also below zero."""
    instance = data.draw(instances())
    order = instance.graph.dag.topological_order
    best, _ = segment_order(instance, order)
    for threshold in range(-1, best + 3):
        assert has_segmentation(instance, order, threshold) == (threshold >= best)


@given(data=st.data())
@settings(max_examples=examples(100))
def test_increments_give_the_cost_of_every_stage(instances, data) -> None:
    """Growing a stage at either end, and the Fenwick table, agree with the cost of the stage."""
    instance = data.draw(instances(max_nodes=7))
    graph, order, nodes = instance.graph, instance.graph.dag.topological_order, instance.nodes
    arrays = kernel_graph(graph)
    ahead = kernels.segments_of(order, arrays)
    back = kernels.segments_of(order[::-1].copy(), arrays)
    table = segment_transfer(order, arrays)

    def grown(segments: kernels.Segments, first: int, last: int) -> int:
        """Add up the increments of a stage, position by position."""
        gain = segments.gain_before[last + 1] - segments.gain_before[first]
        events = slice(segments.event_start[first], segments.event_start[last + 1])
        applies = segments.event_bound[events] >= first
        return int(gain - segments.event_amount[events][applies].sum())

    for first in range(nodes):
        for last in range(first, nodes):
            stage = set(order[first : last + 1].tolist())
            load = sum(int(graph.param_load[v]) for v in stage)
            expected = stage_cost(instance, stage) - max(0, load - graph.cache)
            assert expected == grown(ahead, first, last)
            assert expected == grown(back, nodes - 1 - last, nodes - 1 - first)
            work = sum(int(graph.work[v]) for v in stage)
            assert expected == work + table[last + 1, first + 1]


@pytest.mark.parametrize("nodes", [60, 200])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 16, 64])
@pytest.mark.parametrize("degree", [2, 4, 40])
@pytest.mark.parametrize("largest_table", [0, 2**23])
def test_segmentation_equals_the_reference(
    random_instance, nodes: int, k: int, degree: int, largest_table: int
) -> None:
    """Also with windows of several blocks, many corrections at a position, and without a table."""
    instance = random_instance(nodes, k, nodes + k + degree, degree)
    order = instance.graph.dag.topological_order
    found, ends = segment_order(instance, order, largest_table=largest_table)
    assert found == reference_cost(instance, order)
    assert instance.objective(Partition.from_segments(order, ends)) == found
    assert has_segmentation(instance, order, found)
    assert not has_segmentation(instance, order, found - 1)


@pytest.mark.parametrize("family", reference_segmentation.FAMILIES)
@pytest.mark.parametrize("k", [2, 4, 32, 128])
def test_segmentation_equals_the_reference_on_every_family(family: str, k: int) -> None:
    """Chains with k = 128 have stages to spare."""
    instance = PipelineInstance(reference_segmentation.random_graph(family, 500, seed=3), k)
    order = instance.graph.dag.topological_order
    found, ends = segment_order(instance, order)
    assert found == reference_cost(instance, order)
    assert instance.objective(Partition.from_segments(order, ends)) == found


def test_stages_may_be_fewer_than_k(random_instance: Callable[..., PipelineInstance]) -> None:
    """With k > n every node can have a stage of its own, and no stage is empty."""
    instance = random_instance(20, 50, 1)
    _, ends = segment_order(instance, instance.graph.dag.topological_order)
    assert 1 <= len(ends) <= 20
    assert ends[-1] == 20
    assert (np.diff(ends, prepend=0) > 0).all()
