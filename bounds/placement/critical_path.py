"""`critical-path`: the longest path, each operator and transfer at its best."""

from typing import Any

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance

KIND = "critical-path/1"

# More than any path.
_NEVER = 2**60


def earliest_ends(graph: PlacementGraph) -> IntArray:
    """Return the earliest end of each operator on each device, shape (n, D); large if unsupported.

    An input costs the best of its producer's devices, for each consumer anew.
    """
    can_run = graph.fits
    ends = np.where(can_run, graph.duration, _NEVER)
    inputs: list[list[int]] = [[] for _ in range(graph.nodes)]
    for tensor, readers in enumerate(graph.consumers):
        for reader in readers:
            inputs[reader].append(tensor)
    for node in graph.dag.topological_order.tolist():
        if inputs[node]:
            there = ends[graph.producer[inputs[node]]]
            arrival = there[:, :, None] + graph.times[graph.size[inputs[node]]]
            ends[node] = np.minimum(_NEVER, ends[node] + arrival.min(axis=1).max(axis=0))
    return ends


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the longest path."""
    bound = int(earliest_ends(instance.graph).min(axis=1).max())
    progress.bound(Certificate.of(instance, KIND, bound, {}, "critical-path"))
