"""Finds a partition to start from: the best slicing of a few topological orders.

Bounds do not depend on heuristics, so this is small and plain: all segments' costs as a matrix.
"""

import heapq

import numpy as np

from boundmark.bounds.mip.floating_model import FloatArray
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# A matrix of this many nodes squared takes 32 MB; a program of that size is out of reach anyway.
MOST_NODES = 2000

# Reslicings in a row without gain after which there is little hope of any.
PATIENCE = 60


def sliced(instance: PipelineInstance, order: IntArray) -> Partition:
    """Return the best slicing of a topological order, or one stage if the graph is too large."""
    nodes = instance.nodes
    if nodes > MOST_NODES:
        return Partition(frozen(np.zeros(nodes)))
    costs = _segment_costs(instance.graph, order)
    # Of the first r + 1 nodes in at most b + 1 stages: least[b][r] is the cost, and cuts[b][r] is
    # where the last stage starts.
    least = [costs[0]]
    cuts = [np.zeros(nodes, dtype=np.int64)]
    for _ in range(1, min(instance.k, nodes)):
        candidates = np.maximum(np.concatenate([[0], least[-1][:-1]])[:, None], costs)
        cut = candidates.argmin(axis=0)
        least.append(candidates[cut, np.arange(nodes)])
        cuts.append(cut)
    stages = np.zeros(nodes, dtype=np.int64)
    end = nodes
    for stage in range(len(cuts) - 1, -1, -1):
        if end == 0:
            break
        start = int(cuts[stage][end - 1])
        stages[order[start:end]] = stage
        end = start
    return Partition(frozen(stages))


def quick_partition(instance: PipelineInstance, seed: int, budget: Budget, floor: int) -> Partition:
    """Return the best slicing of orders that follow the best stages so far, up to noise.

    Noise below 1 only reorders nodes within stages, so that slicing again never costs more; larger
    noise also mixes neighbouring stages. It stops at a cost of `floor`, a lower bound.
    """
    best = sliced(instance, instance.graph.dag.topological_order)
    if instance.nodes > MOST_NODES:
        return best
    cost = instance.objective(best)
    random = np.random.default_rng(seed)
    failures = 0
    while failures < PATIENCE and cost > floor and not budget.is_spent():
        noise = random.random(instance.nodes) * random.choice([0.5, 1.5, 3.0])
        candidate = sliced(instance, _order(instance.graph.dag, best.stages + noise))
        candidate_cost = instance.objective(candidate)
        failures = 0 if candidate_cost < cost else failures + 1
        if candidate_cost <= cost:
            best, cost = candidate, candidate_cost
    return best


def _segment_costs(graph: PipelineGraph, order: IntArray) -> IntArray:
    """Return f of the segment from l to r at [l, r], `huge` where r < l.

    A tensor adds a constant on rectangles of [l, r]: collected as differences, then summed twice.
    """
    nodes, dag = graph.dag.nodes, graph.dag
    position = np.empty(nodes, dtype=np.int64)
    position[order] = np.arange(nodes)
    corners = np.zeros((nodes + 1, nodes + 1), dtype=np.int64)
    for u in range(nodes):
        consumers = np.sort(position[dag.consumers_of(u)]).tolist()
        if not consumers:
            continue
        place, amount = int(position[u]), int(graph.transfer[u])
        # It leaves if l <= place <= r < its last consumer.
        corners[0, place] += amount
        corners[place + 1, place] -= amount
        corners[0, consumers[-1]] -= amount
        corners[place + 1, consumers[-1]] += amount
        # It enters if place < l <= c <= r, c being the first consumer from l on.
        for before, consumer in zip([place, *consumers], consumers, strict=False):
            corners[before + 1, consumer] += amount
            corners[consumer + 1, consumer] -= amount
    costs = corners.cumsum(axis=0).cumsum(axis=1)[:nodes, :nodes]
    costs += _segment_sums(graph.work[order])
    if not graph.is_cached:
        costs += np.maximum(_segment_sums(graph.param_load[order]) - graph.cache, 0)
    costs[np.tril_indices(nodes, -1)] = 2**62
    return costs


def _segment_sums(weights: IntArray) -> IntArray:
    ends = np.cumsum(weights)
    return ends[None, :] - (ends - weights)[:, None]


def _order(dag: Dag, priorities: FloatArray) -> IntArray:
    """Return the topological order that takes the available node of smallest priority."""
    missing = np.diff(dag.producer_start).tolist()
    start, targets, rank = dag.consumer_start.tolist(), dag.targets.tolist(), priorities.tolist()
    available = [(rank[v], v) for v in range(dag.nodes) if missing[v] == 0]
    heapq.heapify(available)
    order = []
    while available:
        _, node = heapq.heappop(available)
        order.append(node)
        for consumer in targets[start[node] : start[node + 1]]:
            missing[consumer] -= 1
            if missing[consumer] == 0:
                heapq.heappush(available, (rank[consumer], consumer))
    return frozen(order)
