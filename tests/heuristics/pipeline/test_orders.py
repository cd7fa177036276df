"""The order that keeps few transfers open against its definition."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.pipeline.orders import (
    fewest_open_order,
    noisy_fewest_open_order,
)
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.problems.catalog import methods
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

MEMETIC = methods("pipeline")["memetic"]


def open_after(graph: PipelineGraph, taken: list[int]) -> int:
    """Return the transfers of the tensors of some nodes that others read."""
    dag, inside = graph.dag, set(taken)
    return sum(int(graph.transfer[u]) for u in taken if set(dag.consumers_of(u).tolist()) - inside)


@given(data=st.data())
@settings(max_examples=examples(150))
def test_each_node_is_the_best_at_its_place(instances, data) -> None:
    """Of all available nodes, none would leave less open; of equals, the one available last."""
    graph = data.draw(instances(max_nodes=8)).graph
    order = fewest_open_order(graph).tolist()
    assert sorted(order) == list(range(graph.dag.nodes))
    needs = [set(graph.dag.producers_of(v).tolist()) for v in range(graph.dag.nodes)]
    available_at: dict[int, int] = {}
    for done, node in enumerate(order):
        taken = order[:done]
        ready = [v for v in range(graph.dag.nodes) if v not in taken and needs[v] <= set(taken)]
        for v in ready:
            available_at.setdefault(v, done)
        least = min(ready, key=lambda v: (open_after(graph, [*taken, v]), -available_at[v], v))
        assert node == least


@given(data=st.data(), noise=st.floats(0, 3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(50))
def test_noise_changes_what_tensors_count(instances, data, noise: float, seed: int) -> None:
    """Orders stay topological, and without noise it is the same one."""
    graph = data.draw(instances(max_nodes=8)).graph
    generator = np.random.default_rng(seed)
    position = np.empty(graph.dag.nodes, np.int64)
    position[noisy_fewest_open_order(graph, noise, generator)] = np.arange(graph.dag.nodes)
    assert (position[graph.dag.sources] < position[graph.dag.targets]).all()
    same = noisy_fewest_open_order(graph, 0.0, generator)
    assert same.tolist() == fewest_open_order(graph).tolist()


def training(layers: int, k: int) -> PipelineInstance:
    """Return forward steps, the backward steps that read them, and an update after each of these.

    Each tensor of a backward step is read by its update, too. In the order of numbers, all backward
    steps come before the first update, so that each of their tensors is open at the end.
    """
    forward = list(range(layers))
    backward = [layers + i for i in range(layers)]
    update = [2 * layers + i for i in range(layers)]
    edges = list(pairwise(forward))
    edges += list(pairwise(backward))
    edges += [(v, backward[layers - 1 - v]) for v in forward]
    edges += list(zip(backward, update, strict=True))
    nodes = 3 * layers
    graph = PipelineGraph(
        Dag.from_edges(nodes, edges),
        np.full(nodes, 5),
        np.array([1] * layers + [20] * layers + [1] * layers),
        np.zeros(nodes, dtype=np.int64),
        0,
        tuple(str(v) for v in range(nodes)),
    )
    return PipelineInstance(graph, k)


def test_tensors_that_live_long(run) -> None:
    """`memetic` has the better of both orders before it searches."""
    sample = training(12, 4)
    own = segment_order(sample, sample.graph.dag.topological_order)[0]
    short = segment_order(sample, fewest_open_order(sample.graph))[0]
    assert short < own
    assert run(MEMETIC, sample, evaluations=1).objectives == [own]
    assert run(MEMETIC, sample, evaluations=2).objectives == [own, short]
