import numpy as np
from brute_force import stage_cost
from brute_force_sets import as_bits, descendants, is_convex, subsets, tensors, tiny_graphs
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.weights.tensors import (
    Tensors,
    bits_of,
    loaded,
    packed,
    renumbered,
    unpacked,
)
from boundmark.problems.pipeline import PipelineInstance


@given(tiny_graphs(), st.data())
def test_cost_is_that_of_a_stage(sample: PipelineInstance, data: st.DataObject) -> None:
    """Sets cost what the objective says, tensors counted once for each direction."""
    members = data.draw(st.sets(st.integers(0, sample.nodes - 1), min_size=1))
    assert Tensors.of(sample.graph).cost(as_bits(members)) == stage_cost(sample, members)


@given(tiny_graphs())
def test_relations_are_those_of_the_graph(sample: PipelineInstance) -> None:
    """Dependence at any distance, ends of tensors, and who shares one."""
    found = Tensors.of(sample.graph)
    for v in range(sample.nodes):
        assert found.after[v] == as_bits(descendants(sample, v))
        assert found.before[v] == as_bits(
            u for u in range(sample.nodes) if v in descendants(sample, u)
        )
        around = set().union(*(ends for ends in tensors(sample) if v in ends)) - {v}
        assert found.near[v] == as_bits(around) == found.near_to(1 << v)


@given(tiny_graphs(), st.data())
def test_parts_are_what_tensors_connect(sample: PipelineInstance, data: st.DataObject) -> None:
    """They make up the set, each is connected, and no tensor leads from one to another."""
    members = data.draw(st.sets(st.integers(0, sample.nodes - 1)))
    found = Tensors.of(sample.graph)
    parts = [set(bits_of(part)) for part in found.parts(as_bits(members))]
    assert sorted(v for part in parts for v in part) == sorted(members)
    within = [ends & members for ends in tensors(sample)]
    assert all(any(ends <= part for part in parts) for ends in within if ends)
    for part in parts:
        reached = {min(part)}
        for _ in part:
            reached |= set().union(*(ends for ends in within if ends & reached))
        assert reached == part


@given(tiny_graphs(largest=6), st.data())
def test_hull_is_the_smallest_convex_set(sample: PipelineInstance, data: st.DataObject) -> None:
    """With a convex set and a node, it is in every convex set that has both."""
    found = Tensors.of(sample.graph)
    convex = [members for members in subsets(range(sample.nodes)) if is_convex(sample, members)]
    inside = data.draw(st.sampled_from(convex))
    node = data.draw(st.integers(0, sample.nodes - 1))
    with_both = [as_bits(members) for members in convex if inside | {node} <= members]
    hull = found.hull(as_bits(inside), node)
    assert hull in with_both
    assert all(hull & members == hull for members in with_both)


@given(tiny_graphs(largest=6), st.data())
def test_kept_out_is_in_no_convex_set(sample: PipelineInstance, data: st.DataObject) -> None:
    """No convex set with the nodes inside and without those outside has what they rule out."""
    found = Tensors.of(sample.graph)
    convex = [members for members in subsets(range(sample.nodes)) if is_convex(sample, members)]
    inside = data.draw(st.sampled_from(convex))
    outside = data.draw(st.sets(st.integers(0, sample.nodes - 1))) - inside
    out = found.kept_out(as_bits(inside), as_bits(outside))
    assert out & as_bits(outside) == as_bits(outside)
    for members in convex:
        if inside <= members and not outside & members:
            assert not out & as_bits(members)


@given(tiny_graphs(), st.data())
def test_renumbered_graph_is_the_same(sample: PipelineInstance, data: st.DataObject) -> None:
    """Each set costs what the same nodes cost under their old numbers."""
    order = data.draw(st.permutations(range(sample.nodes)))
    again = Tensors.of(renumbered(sample.graph, order))
    members = data.draw(st.sets(st.integers(0, sample.nodes - 1), min_size=1))
    old = {order[i] for i in members}
    assert again.cost(as_bits(members)) == stage_cost(sample, old)


@given(tiny_graphs(), st.data())
def test_loaded_graph_bounds_stages(sample: PipelineInstance, data: st.DataObject) -> None:
    """With parameters as work, a set costs as much as before and the cache at most."""
    members = data.draw(st.sets(st.integers(0, sample.nodes - 1), min_size=1))
    cost = Tensors.of(loaded(sample.graph)).cost(as_bits(members))
    assert cost <= stage_cost(sample, members) + sample.graph.cache


@given(st.lists(st.integers(0, 2**130 - 1), min_size=1))
def test_packing_into_words_loses_nothing(sets: list[int]) -> None:
    """Rows of words stand for the same sets."""
    rows = packed(sets, 130)
    assert rows.shape == (len(sets), 3)
    assert rows.dtype == np.uint64
    assert [unpacked(row) for row in rows] == sets
    assert [sum(1 << v for v in bits_of(members)) for members in sets] == sets
