"""`heft`: operators by longest path, each on the device where it ends first ([HEFT02])."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.earliest_kernels import earliest_finish
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.reserve import leaving_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance


def mean_ranks(instance: PlacementInstance) -> IntArray:
    """Return the longest path from each operator to the end, shape (n,), rounded down.

    It consists of mean durations, over the devices that support the operator, and of mean times of
    transfers, over all pairs of different devices ([HEFT02], Equation 8).
    """
    graph = instance.graph
    mean, moved = mean_durations(graph), mean_transfers(graph)
    written: list[list[int]] = [[] for _ in range(graph.nodes)]
    for tensor, producer in enumerate(graph.producer.tolist()):
        written[producer].append(tensor)
    rank = [0] * graph.nodes
    for node in reversed(graph.dag.topological_order.tolist()):
        after = (
            int(moved[tensor]) + max(rank[reader] for reader in graph.consumers[tensor])
            for tensor in written[node]
        )
        rank[node] = int(mean[node]) + max(after, default=0)
    return np.array(rank, dtype=np.int64)


def by_rank(instance: PlacementInstance, ranks: IntArray) -> IntArray:
    """Return the operators in topological order, those of the largest rank first, shape (n,)."""
    order = instance.graph.dag.topological_order
    return np.asarray(order[np.argsort(-ranks[order], kind="stable")])


@leaving_room
def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths, by ranks and in the order found."""
    best = PlacementIncumbent(instance, progress)
    ranks = mean_ranks(instance)
    sequence = by_rank(instance, ranks)
    devices, starts = np.full((2, instance.nodes), -1, dtype=np.int64)
    handicap = np.zeros_like(instance.graph.duration)
    earliest_finish(best.arrays, sequence, handicap, devices, starts)
    best.evaluate_list_schedule(devices, ranks, -starts)


def mean_durations(graph: PlacementGraph) -> IntArray:
    """Return the mean duration of each operator, over devices that support it, shape (n,)."""
    supported = graph.is_supported
    total = np.where(supported, graph.duration, 0).sum(axis=1)
    return np.asarray(total // supported.sum(axis=1))


def mean_transfers(graph: PlacementGraph) -> IntArray:
    """Return the mean time of each tensor, over pairs of different devices, shape (T,)."""
    pairs = max(1, graph.devices * (graph.devices - 1))
    return np.asarray((graph.times.sum(axis=(1, 2)) // pairs)[graph.size])
