"""`single-device`: everything on one device, the best that supports all and has room for it."""

from functools import partial
from typing import Any

import numpy as np

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import has_room_while_running


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
        schedule = _in_turn(graph, device)
        if has_room_while_running(graph, schedule, instance.transfers):
            best.offer(int(graph.duration[:, device].sum()), partial(_in_turn, graph, device))
    if best.cost == NO_COST:
        raise UnsupportedError("no device has room for all operators and what is live.")


def _in_turn(graph: PlacementGraph, device: int) -> PlacementSchedule:
    """Return the schedule of all operators on one device, in topological order."""
    order = graph.dag.topological_order
    ends = np.cumsum(graph.duration[order, device])
    starts = np.empty(graph.nodes, dtype=np.int64)
    starts[order] = ends - graph.duration[order, device]
    nothing = np.empty((0, 3), dtype=np.int64)
    return PlacementSchedule(np.full(graph.nodes, device), starts, nothing)
