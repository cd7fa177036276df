import itertools
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from brute_force import instance, stage_cost
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.flows.minimum_cuts import MinimumCuts
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline.graph import PipelineGraph

IO_WEIGHTS = (1, 2, 3, 8, 24, 96, 384)


def cheapest_sets(graph: PipelineGraph, node: int, io_weight: int) -> int:
    """Return the minimum of a io(S) + work(S), by trying every S that contains the node."""
    sample = instance(
        graph.work.tolist(),
        list(zip(graph.dag.sources.tolist(), graph.dag.targets.tolist(), strict=True)),
        1,
        transfer=graph.transfer.tolist(),
    )
    others = [v for v in range(graph.dag.nodes) if v != node]
    costs = []
    for size in range(len(others) + 1):
        for rest in itertools.combinations(others, size):
            stage = {node, *rest}
            work = sum(int(graph.work[v]) for v in stage)
            costs.append(io_weight * (stage_cost(sample, stage) - work) + work)
    return min(costs)


def reference_cut(graph: PipelineGraph, node: int, io_weight: int) -> int:
    """Return the same from a general maximum-flow solver."""
    network = nx.DiGraph()
    for y in range(graph.dag.nodes):
        capacity = io_weight * int(graph.transfer[y])
        network.add_edge(y, ("out", y), capacity=capacity)
        network.add_edge(("back", y), y, capacity=capacity)
        if y != node:
            network.add_edge(y, "sink", capacity=int(graph.work[y]))
    for u, w in zip(graph.dag.sources.tolist(), graph.dag.targets.tolist(), strict=True):
        network.add_edge(("out", u), w)
        network.add_edge(w, ("back", u))
    network.add_node("sink")
    return int(graph.work[node]) + int(nx.maximum_flow_value(network, node, "sink"))


@st.composite
def graphs(draw: st.DrawFn) -> PipelineGraph:
    """Draw graphs small enough to try all sets, with nodes and tensors that cost nothing."""
    n = draw(st.integers(1, 7))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    weights = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return instance(draw(weights), edges, 1, transfer=draw(weights)).graph


@given(graphs(), st.sampled_from(IO_WEIGHTS))
def test_cuts_are_the_cheapest_sets(graph: PipelineGraph, io_weight: int) -> None:
    """The table holds the minimum over all sets that contain the node."""
    nodes = frozen(range(graph.dag.nodes))
    table = MinimumCuts(graph).table(nodes, (io_weight, 384))
    assert table[:, 0].tolist() == [cheapest_sets(graph, v, io_weight) for v in nodes.tolist()]


@pytest.mark.parametrize("unit", [1, 10**9])
def test_cuts_equal_a_general_solver(random_graph: Callable[..., PipelineGraph], unit: int) -> None:
    """Larger graphs agree with networkx, at costs far beyond 32 bits too."""
    graph = random_graph(80, 3, unit)
    nodes = frozen(range(0, 80, 10))
    table = MinimumCuts(graph).table(nodes, IO_WEIGHTS)
    expected = [[reference_cut(graph, v, a) for a in IO_WEIGHTS] for v in nodes.tolist()]
    assert table.tolist() == expected


def test_costs_up_to_the_limit_do_not_overflow() -> None:
    """Costs that add up to nearly 2^53 stay exact when scaled by the largest weight."""
    large = 2**51 - 1
    graph = instance([large, 1, 1], [(0, 1), (0, 2)], 1, transfer=[large, 0, 0]).graph
    table = MinimumCuts(graph).table(frozen([0, 1]), IO_WEIGHTS)
    assert table.tolist() == [[large + 2] * 7, [large + 1, *[large + 2] * 6]]


def test_flows_do_not_depend_on_those_before(random_graph: Callable[..., PipelineGraph]) -> None:
    """Whatever ran before, a flow starts from a clean state."""
    graph = random_graph(60, 5)
    used = MinimumCuts(graph)
    used.table(frozen(range(60)), IO_WEIGHTS)
    used.largest(frozen([0] * 60))
    for v in range(60):
        assert used.flow(v, 8) == MinimumCuts(graph).flow(v, 8)


@given(graphs(), st.lists(st.integers(0, 20), min_size=7, max_size=7))
def test_largest_cut_is_the_maximum(graph: PipelineGraph, extra: list[int]) -> None:
    """Skipping nodes that cannot win does not skip the winner."""
    n = graph.dag.nodes
    node, value = MinimumCuts(graph).largest(frozen(extra[:n]))
    values = [extra[v] + cheapest_sets(graph, v, 1) for v in range(n)]
    assert value == max(values) == values[node]


def test_a_flow_stays_near_its_node(random_graph: Callable[..., PipelineGraph]) -> None:
    """Where the neighbours absorb the flow, the rest of the graph plays no part."""
    graph = random_graph(3000, 1)
    flow = MinimumCuts(graph).flow(1500, 1)
    assert 0 < len(flow["edges"]) < 40
    assert np.all(np.diff(flow["edges"]) > 0)
