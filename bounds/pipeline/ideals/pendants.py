"""Nodes that cost nothing beside their only neighbour need not be placed."""

from collections.abc import Sequence

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph


def pendants(graph: PipelineGraph) -> list[tuple[int, int]]:
    """Return nodes that cost nothing beside their only neighbour, with it, in order of removal.

    Without work and parameters, such a node adds nothing to its neighbour's stage, and removes a
    tensor from two stages if it was elsewhere; and no cycle can pass through it. So there is an
    optimal partition in which it shares its neighbour's stage, wherever that is. This leaves
    another graph, in which other nodes may have one neighbour.
    """
    dag = graph.dag
    neighbours = [
        {*dag.producers_of(v).tolist(), *dag.consumers_of(v).tolist()} for v in range(dag.nodes)
    ]
    free = (graph.work == 0) & (graph.is_cached | (graph.param_load == 0))
    waiting = [v for v in range(dag.nodes) if free[v] and len(neighbours[v]) == 1]
    removed = []
    while waiting:
        v = waiting.pop()
        if not neighbours[v]:
            # Its neighbour was such a node too, and went first.
            continue
        u = neighbours[v].pop()
        neighbours[u].discard(v)
        removed.append((v, u))
        if free[u] and len(neighbours[u]) == 1:
            waiting.append(u)
    return removed


def without(graph: PipelineGraph, nodes: Sequence[int]) -> tuple[PipelineGraph, list[int]]:
    """Return the graph without some nodes and their edges, and the nodes that it keeps."""
    kept = sorted(set(range(graph.dag.nodes)) - set(nodes))
    number = {v: i for i, v in enumerate(kept)}
    edges = [
        (number[u], number[w])
        for u, w in graph.dag.edge_pairs().tolist()
        if u in number and w in number
    ]
    return (
        PipelineGraph(
            Dag.from_edges(len(kept), edges),
            frozen(graph.work[kept]),
            frozen(graph.transfer[kept]),
            frozen(graph.param_load[kept]),
            graph.cache,
            tuple(graph.names[v] for v in kept),
            graph.tick,
        ),
        kept,
    )


def with_pendants(
    stages: Sequence[int], kept: Sequence[int], removed: Sequence[tuple[int, int]]
) -> IntArray:
    """Return the stages of all nodes, given those of the nodes that `without` keeps."""
    stage = dict(zip(kept, stages, strict=True))
    for v, neighbour in reversed(removed):
        stage[v] = stage[neighbour]
    return frozen([stage[v] for v in range(len(stage))])
