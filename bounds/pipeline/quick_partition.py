"""A quick partition to start from: the best segmentation of a few topological orders.

Bounds do not depend on heuristics, so this is small and plain: all segments' costs as a matrix or,
of graphs that are too large for one, stages as long as a threshold allows.
"""

import heapq
import math

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.mip.linear_model import FloatArray
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Number of nodes up to which the costs of all segments of an order are a matrix: 2000 take 32 MB.
MOST_NODES_OF_A_MATRIX = 2000


def start_from_quick_partition(
    instance: PipelineInstance, seed: int, budget: Budget, best: Best
) -> Partition | None:
    """Report a quick partition, in a small part of the time, unless a cost is known; return it."""
    if math.isfinite(best.objective):
        return None
    found = quick_partition(instance, seed, budget.part(0.02), int(best.certified))
    best.solution(found)
    return found


def segmented(instance: PipelineInstance, order: IntArray) -> Partition:
    """Return the best segmentation of a topological order, a good one if the graph is large."""
    nodes = instance.nodes
    if nodes > MOST_NODES_OF_A_MATRIX:
        return _segmented_by_thresholds(instance, order)
    costs = _segment_costs(instance.graph, order)
    # For the first r + 1 nodes in at most b + 1 stages, least[b][r] is the cost, and cuts[b][r] is
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


def _segmented_by_thresholds(instance: PipelineInstance, order: IntArray) -> Partition:
    """Return a segmentation with longest stages at the least threshold that allows them."""
    best = Partition(frozen(np.zeros(instance.nodes)))
    cost = instance.objective(best)
    unmet = -(-int(instance.graph.work.sum()) // instance.k) - 1
    while cost - unmet > max(1, 0.0005 * cost):
        threshold = (cost + unmet) // 2
        stages = longest_stages(instance, order, threshold)
        if stages is None:
            unmet = threshold
        else:
            best = Partition(frozen(stages))
            cost = instance.objective(best)
    return best


def longest_stages(instance: PipelineInstance, order: IntArray, threshold: int) -> list[int] | None:
    """Return a segmentation into longest stages that cost at most a threshold, or None.

    None does not mean that there are no others: a shorter stage may hand less on to the next one.
    """
    graph, dag = instance.graph, instance.graph.dag
    work, load, transfer = graph.work.tolist(), graph.param_load.tolist(), graph.transfer.tolist()
    producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
    nodes = order.tolist()
    position = {v: i for i, v in enumerate(nodes)}
    last = [-1] * dag.nodes
    for v in nodes:
        for u in producers[v]:
            last[u] = position[v]
    stages = [0] * dag.nodes
    start = 0
    for stage in range(instance.k):
        end, kept, parameters, leaving = start, 0, 0, 0
        read: set[int] = set()
        for i in range(start, dag.nodes):
            v = nodes[i]
            kept += work[v]
            parameters += load[v]
            leaving += transfer[v] if last[v] >= 0 else 0
            for u in producers[v]:
                if position[u] >= start:
                    leaving -= transfer[u] if last[u] == i else 0
                elif u not in read:
                    read.add(u)
                    kept += transfer[u]
            # Work, entering tensors and overflow only grow with the stage.
            cost = kept + max(0, parameters - graph.cache)
            if cost > threshold:
                break
            if cost + leaving <= threshold:
                end = i + 1
        for v in nodes[start:end]:
            stages[v] = stage
        start = end
        if start == dag.nodes:
            return stages
    return None


def quick_partition(instance: PipelineInstance, seed: int, budget: Budget, floor: int) -> Partition:
    """Return the best segmentation found of orders near the best partition's.

    Noise below 1 only reorders nodes within stages, so that a segmentation never costs more;
    larger noise also mixes neighbouring stages. It stops at a cost of `floor`, a lower bound.
    """
    best = segmented(instance, instance.graph.dag.topological_order)
    if instance.nodes > MOST_NODES_OF_A_MATRIX:
        return best
    cost = instance.objective(best)
    random = np.random.default_rng(seed)
    # Orders in a row without gain, and after how many the search ends.
    failures, patience = 0, 60
    while failures < patience and cost > floor and not budget.is_spent():
        noise = random.random(instance.nodes) * random.choice([0.5, 1.5, 3.0])
        order = ordered(instance.graph.dag, best.stages + noise)
        candidate = segmented(instance, order)
        candidate_cost = instance.objective(candidate)
        failures = 0 if candidate_cost < cost else failures + 1
        if candidate_cost <= cost:
            best, cost = candidate, candidate_cost
    return best


def _segment_costs(graph: PipelineGraph, order: IntArray) -> IntArray:
    """Return the costs f of all segments [l, r] of an order, shape (n, n); huge where r < l.

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


def ordered(dag: Dag, priorities: FloatArray) -> IntArray:
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
