"""`heft`: longest paths first, each operator where it ends first ([HEFT02])."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.kernels.earliest import earliest_finish
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.placement import PlacementInstance


def mean_ranks(instance: PlacementInstance) -> IntArray:
    """Return the longest path from each operator to the end, shape (n,), rounded down.

    It consists of mean durations, over the devices that support the operator, and of mean times of
    transfers, over all pairs of different devices ([HEFT02], Equation 8).
    """
    graph = instance.graph
    supported = graph.is_supported
    mean = np.where(supported, graph.duration, 0).sum(axis=1) // supported.sum(axis=1)
    pairs = max(1, graph.devices * (graph.devices - 1))
    moved = graph.times.sum(axis=(1, 2)) // pairs
    written: list[list[int]] = [[] for _ in range(graph.nodes)]
    for tensor, producer in enumerate(graph.producer.tolist()):
        written[producer].append(tensor)
    rank = [0] * graph.nodes
    for node in reversed(graph.dag.topological_order.tolist()):
        after = (
            int(moved[graph.size[tensor]]) + max(rank[reader] for reader in graph.consumers[tensor])
            for tensor in written[node]
        )
        rank[node] = int(mean[node]) + max(after, default=0)
    return np.array(rank, dtype=np.int64)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths, by ranks and in the order found."""
    best = Incumbent(instance, progress)
    ranks = mean_ranks(instance)
    order = instance.graph.dag.topological_order
    sequence = order[np.argsort(-ranks[order], kind="stable")]
    devices, starts = np.empty((2, instance.nodes), dtype=np.int64)
    if earliest_finish(best.network, sequence, devices, starts) < instance.nodes:
        raise UnsupportedError("no device has room for the operators that are left.")
    best.offer(devices)
    best.offer(devices, ranks)
    best.offer(devices, -starts)


HEFT = Method(
    name="heft",
    problem="placement",
    kind="heuristic",
    summary="Longest paths first, each operator on the device where it ends first ([HEFT02]).",
    run=run,
)
