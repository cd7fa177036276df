"""`heft`: longest paths first, each operator where it ends first ([HEFT02])."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.kernels.earliest import earliest_finish
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.mean_costs import mean_durations, mean_transfers
from boundmark.heuristics.placement.schedules.room import with_all_placed
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


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
    """Return the operators by rank, largest first, and in topological order, shape (n,)."""
    order = instance.graph.dag.topological_order
    return np.asarray(order[np.argsort(-ranks[order], kind="stable")])


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths, by ranks and in the order found."""
    best = Incumbent(instance, progress)
    ranks = mean_ranks(instance)
    sequence = by_rank(instance, ranks)
    devices, starts = np.full((2, instance.nodes), -1, dtype=np.int64)
    handicap = np.zeros_like(instance.graph.duration)
    if earliest_finish(best.network, sequence, handicap, devices, starts) < instance.nodes:
        best.offer(with_all_placed(instance, devices))
        return
    best.offer(devices)
    best.offer(devices, ranks)
    best.offer(devices, -starts)
