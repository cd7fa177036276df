"""Oracles for tiny instances of `pipeline`, written from the definitions alone."""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
from hypothesis import strategies as st

from boundmark.problems.arrays import frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def instance(
    work: list[int],
    edges: list[tuple[int, int]],
    k: int,
    *,
    transfer: list[int] | None = None,
    param_load: list[int] | None = None,
    cache: int = 0,
) -> PipelineInstance:
    """Build an instance from lists; tensors cost 1 unless told."""
    n = len(work)
    graph = PipelineGraph(
        Dag.from_edges(n, edges),
        frozen(work),
        frozen([1] * n if transfer is None else transfer),
        frozen([0] * n if param_load is None else param_load),
        cache,
        tuple(f"op{v}" for v in range(n)),
    )
    return PipelineInstance(graph, k)


# What costs are drawn from: all kinds, often nothing, and equal ones.
KINDS_OF_COSTS = (tuple(range(10)), (0, 0, 5), (0, 1), (4,))


@st.composite
def instances(draw: st.DrawFn) -> PipelineInstance:
    """Draw tiny instances with every cost term."""
    n = draw(st.integers(1, 5))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    weights = st.sampled_from(KINDS_OF_COSTS).flatmap(
        lambda costs: st.lists(st.sampled_from(costs), min_size=n, max_size=n)
    )
    return instance(
        draw(weights),
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        draw(st.integers(1, 4)),
        transfer=draw(weights),
        param_load=draw(weights),
        cache=draw(st.integers(0, 12)),
    )


@st.composite
def numbered_instances(draw: st.DrawFn, max_nodes: int = 9, max_cost: int = 9) -> PipelineInstance:
    """Draw any DAG with any numbering, with overflow, and k from 1 to beyond n."""
    nodes = draw(st.integers(1, max_nodes))
    pairs = list(itertools.combinations(range(nodes), 2))
    name = draw(st.permutations(range(nodes)))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    costs = st.lists(st.integers(0, max_cost), min_size=nodes, max_size=nodes)
    graph = PipelineGraph(
        Dag.from_edges(nodes, [(name[a], name[b]) for a, b in chosen]),
        np.array(draw(costs)),
        np.array(draw(costs)),
        np.array(draw(costs)),
        draw(st.integers(0, 3 * max_cost)),
        tuple(str(node) for node in range(nodes)),
    )
    return PipelineInstance(graph, draw(st.integers(1, nodes + 2)))


def all_edge_sets(nodes: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the edges of every DAG whose node numbers are a topological order."""
    pairs = list(itertools.combinations(range(nodes), 2))
    for kept in itertools.product((False, True), repeat=len(pairs)):
        yield [pair for pair, keep in zip(pairs, kept, strict=True) if keep]


@cache
def all_dags(nodes: int) -> tuple[list[tuple[int, int]], ...]:
    """Return each of them once up to renumbering: 1, 2, 6, 31, 302 for 1 to 5 nodes."""
    found = []
    seen: set[frozenset[tuple[int, int]]] = set()
    for edges in all_edge_sets(nodes):
        if frozenset(edges) in seen:
            continue
        for numbers in itertools.permutations(range(nodes)):
            seen.add(frozenset((numbers[u], numbers[v]) for u, v in edges))
        found.append(edges)
    return tuple(found)


def stage_cost(instance: PipelineInstance, stage: set[int]) -> int:
    """Return f(S), tensor by tensor."""
    graph = instance.graph
    cost = sum(int(graph.work[v]) for v in stage)
    for u in range(instance.nodes):
        consumers = {int(w) for w in graph.dag.consumers_of(u)}
        if u not in stage and consumers & stage:
            cost += int(graph.transfer[u])
        if u in stage and consumers - stage:
            cost += int(graph.transfer[u])
    return cost + max(0, sum(int(graph.param_load[v]) for v in stage) - graph.cache)


def partitions(instance: PipelineInstance) -> Iterator[tuple[int, ...]]:
    """Yield every valid partition: a stage per node such that no edge goes to an earlier stage."""
    edges = [*zip(instance.graph.dag.sources, instance.graph.dag.targets, strict=True)]
    last = min(instance.k, instance.nodes) - 1
    before = [[int(u) for u, w in edges if w == v and u < v] for v in range(instance.nodes)]
    after = [[int(w) for u, w in edges if u == v and w < v] for v in range(instance.nodes)]

    def extended(chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        v = len(chosen)
        if v == instance.nodes:
            yield chosen
            return
        first = max((chosen[u] for u in before[v]), default=0)
        for stage in range(first, min((chosen[w] for w in after[v]), default=last) + 1):
            yield from extended((*chosen, stage))

    return extended(())


def cost(instance: PipelineInstance, assignment: tuple[int, ...]) -> int:
    """Return the cost of the slowest stage."""
    stages = [
        {v for v in range(instance.nodes) if assignment[v] == stage} for stage in set(assignment)
    ]
    return max(stage_cost(instance, stage) for stage in stages)


@cache
def optimum(instance: PipelineInstance) -> int:
    """Return the smallest cost of any valid partition."""
    costs: dict[frozenset[int], int] = {}
    best = None
    for assignment in partitions(instance):
        stages = [
            frozenset(v for v, chosen in enumerate(assignment) if chosen == stage)
            for stage in set(assignment)
        ]
        for stage in stages:
            if stage not in costs:
                costs[stage] = stage_cost(instance, set(stage))
        worst = max(costs[stage] for stage in stages)
        best = worst if best is None else min(best, worst)
    assert best is not None
    return best
