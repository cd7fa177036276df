"""Moves of nodes against the costs of whole partitions; random numbers against published ones."""

import numpy as np
import numpy.typing as npt
import pytest
from brute_force import instance as instance_of
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.node_move_kernels import (
    MOST_CARRIED,
    Walk,
    anneal,
    cost_changes,
    count_readers,
    draw_bits,
    draw_fraction,
    high_below,
    low_fraction,
    move,
    new_state,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.instance import stage_costs, stage_overflow


def costs_without_overflow(instance: PipelineInstance, stages: IntArray) -> IntArray:
    """Return work and transfers of each stage."""
    graph = instance.graph
    return stage_costs(graph, stages, instance.k) - stage_overflow(graph, stages, instance.k)


def loads(instance: PipelineInstance, stages: IntArray) -> IntArray:
    """Return the sum of param_load of each stage."""
    sums = np.zeros(instance.k, np.int64)
    np.add.at(sums, stages, instance.graph.param_load)
    return sums


def readers(instance: PipelineInstance, stages: IntArray) -> npt.NDArray[np.int32]:
    """Return how many consumers each node has in each stage."""
    counts = np.zeros((instance.nodes, instance.k), np.int32)
    dag = instance.graph.dag
    np.add.at(counts, (dag.sources, stages[dag.targets]), 1)
    return counts


def walk_of(instance: PipelineInstance, stages: IntArray) -> Walk:
    """Return a walk that begins with a partition, whose stages become its own."""
    return Walk(
        stages,
        costs_without_overflow(instance, stages),
        loads(instance, stages),
        readers(instance, stages),
    )


def assert_books_are_kept(instance: PipelineInstance, walk: Walk) -> None:
    """Compare what a walk says of its stages with what they are."""
    assert walk.costs.tolist() == costs_without_overflow(instance, walk.stages).tolist()
    assert walk.loads.tolist() == loads(instance, walk.stages).tolist()
    assert walk.readers.tolist() == readers(instance, walk.stages).tolist()


def any_stages(data: st.DataObject, instance: PipelineInstance) -> IntArray:
    """Draw stages such that tensors only flow to later ones."""
    cuts = st.integers(0, instance.k - 1)
    drawn = data.draw(st.lists(cuts, min_size=instance.nodes, max_size=instance.nodes))
    stages = np.empty(instance.nodes, np.int64)
    stages[instance.graph.dag.topological_order] = sorted(drawn)
    return stages


@given(data=st.data())
@settings(max_examples=examples(200))
def test_changes_equal_the_difference_of_costs(instances, data) -> None:
    """A node may go anywhere, also where tensors would flow back; other stages never change."""
    instance = data.draw(instances())
    stages = any_stages(data, instance)
    node = data.draw(st.integers(0, instance.nodes - 1))
    at, to = int(stages[node]), data.draw(st.integers(0, instance.k - 1))
    if at == to:
        return
    graph, walk = kernel_graph(instance.graph), walk_of(instance, stages)
    leaving, entering = cost_changes(graph, walk, node, to)
    move(graph, walk, node, to, leaving, entering)
    assert stages[node] == to
    assert_books_are_kept(instance, walk)


@given(data=st.data())
@settings(max_examples=examples(50))
def test_readers_are_the_consumers_in_each_stage(instances, data) -> None:
    """A node that consumes several tensors counts for each of them."""
    instance = data.draw(instances())
    stages = any_stages(data, instance)
    counts = np.zeros((instance.nodes, instance.k), np.int32)
    count_readers(kernel_graph(instance.graph), stages, counts)
    assert counts.tolist() == readers(instance, stages).tolist()


@given(data=st.data(), seed=st.integers(0, 2**32 - 1), temperature=st.floats(0.001, 1))
@settings(max_examples=examples(100))
def test_annealing_keeps_its_books(instances, data, seed: int, temperature: float) -> None:
    """Stages stay feasible, costs and loads are theirs, and the best partition costs the result."""
    instance = data.draw(instances())
    stages = any_stages(data, instance)
    before = instance.objective(Partition(stages))
    best_stages, state = stages.copy(), new_state(np.random.default_rng(seed))
    graph, walk = kernel_graph(instance.graph), walk_of(instance, stages)
    best = anneal(graph, walk, state, 60, temperature, 0.06, before, best_stages)
    assert instance.objective(Partition(best_stages)) == best <= before
    assert (stages[instance.graph.dag.sources] <= stages[instance.graph.dag.targets]).all()
    assert_books_are_kept(instance, walk)


def chain(length: int, cheap: set[int]) -> PipelineInstance:
    """Return a chain for two stages, with tensors that cost much, apart from a few."""
    transfer = [0 if v in cheap else 10 * length for v in range(length)]
    edges = [(v, v + 1) for v in range(length - 1)]
    return instance_of([1] * length, edges, 2, transfer=transfer)


def annealed(instance: PipelineInstance, stages: IntArray) -> tuple[int, IntArray]:
    """Return the cost after moves that are hardly ever for the worse; the stages become its own."""
    graph, walk = kernel_graph(instance.graph), walk_of(instance, stages)
    state = new_state(np.random.default_rng(1))
    cost, best = instance.objective(Partition(stages)), stages.copy()
    best_cost = anneal(graph, walk, state, 2000, 1e-6, 0.9, cost, best)
    assert_books_are_kept(instance, walk)
    return best_cost, best


@pytest.mark.parametrize("stage", [0, 1])
def test_nodes_take_along_what_depends_on_them(stage: int) -> None:
    """A chain is halved at its one cheap tensor, though each node alone would cut another one."""
    half = 4
    instance = chain(2 * half, {half - 1})
    cost, stages = annealed(instance, np.full(2 * half, stage))
    assert cost == half
    assert stages.tolist() == [0] * half + [1] * half


def test_groups_have_a_limit() -> None:
    """Nodes that would have to take more than the limit along stay, and books are kept."""
    half = MOST_CARRIED + 1
    instance = chain(2 * half, {half - 1})
    cost, _ = annealed(instance, np.zeros(2 * half, np.int64))
    assert cost == 2 * half


def test_the_first_numbers_are_those_of_the_reference() -> None:
    """Of S. Vigna's splitmix64.c for the state 1234567."""
    state = np.array([1234567], np.uint64)
    assert [int(draw_bits(state)) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_numbers_stay_in_their_ranges() -> None:
    """Also at both ends of what bits can be."""
    none, all_ = np.uint64(0), np.uint64(2**64 - 1)
    assert (high_below(none, 7), high_below(all_, 7)) == (0, 6)
    assert low_fraction(none) == 0
    assert 0.999 < low_fraction(all_) < 1


def test_numbers_are_spread_evenly() -> None:
    """Each of eight values comes an eighth of the time, and fractions are 1/2 in the mean."""
    state = new_state(np.random.default_rng(1))
    values = [high_below(draw_bits(state), 8) for _ in range(4000)]
    assert np.bincount(values, minlength=8).min() > 400
    assert abs(np.mean([draw_fraction(state) for _ in range(4000)]) - 0.5) < 0.03
