"""`single-device`: everything on one device, the best that supports all and has room for it."""

from typing import Any

import numpy as np

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance, PlacementSchedule


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report all operators one after the other, on the device that takes least time for them.

    Raises
    ------
    UnsupportedError
        If no device supports all operators and has room for them.
    """
    graph = instance.graph
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    if not fits.any():
        raise UnsupportedError("no device supports all operators and has room for them.")
    total = graph.duration.sum(axis=0)
    device = min(np.flatnonzero(fits).tolist(), key=lambda one: int(total[one]))
    order = graph.dag.topological_order
    ends = np.cumsum(graph.duration[order, device])
    starts = np.empty(graph.nodes, dtype=np.int64)
    starts[order] = ends - graph.duration[order, device]
    nothing = np.empty((0, 3), dtype=np.int64)
    progress.solution(PlacementSchedule(np.full(graph.nodes, device), starts, nothing))
