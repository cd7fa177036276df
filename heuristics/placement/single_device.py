"""`single-device`: everything on one device, the best that supports all and has room for it."""

from functools import partial
from typing import Any

import numpy as np

from boundmark.heuristics.incumbent import Incumbent
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report all operators one after the other, on each device that is better than those before.

    Raises
    ------
    UnsupportedError
        If no device supports all operators and has room for them.
    """
    graph = instance.graph
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    if not fits.any():
        raise UnsupportedError("no device supports all operators and has room for them.")
    best: Incumbent[PlacementSchedule] = Incumbent(progress)
    for device in np.flatnonzero(fits).tolist():
        best.offer(int(graph.duration[:, device].sum()), partial(_in_turn, graph, device))


def _in_turn(graph: PlacementGraph, device: int) -> PlacementSchedule:
    """Return the schedule of all operators on one device, in topological order."""
    order = graph.dag.topological_order
    ends = np.cumsum(graph.duration[order, device])
    starts = np.empty(graph.nodes, dtype=np.int64)
    starts[order] = ends - graph.duration[order, device]
    nothing = np.empty((0, 3), dtype=np.int64)
    return PlacementSchedule(np.full(graph.nodes, device), starts, nothing)
