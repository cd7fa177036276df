"""`m-topo`: fill one device after another in topological order ([BAECHI20], Section 3.1)."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import require_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def filled(instance: PlacementInstance) -> IntArray:
    """Return the device of each operator, shape (n,).

    A device gets operators until it would hold more than the mean over all devices and the largest
    operator together, or more than its capacity. So all devices hold about the same.
    """
    graph = instance.graph
    cap = int(graph.memory.sum()) // graph.devices + int(graph.memory.max())
    devices = np.empty(graph.nodes, dtype=np.int64)
    device = held = 0
    for node in graph.dag.topological_order.tolist():
        needed = int(graph.memory[node])
        if held + needed > min(cap, int(graph.capacity[device])) and device + 1 < graph.devices:
            device, held = device + 1, 0
        devices[node] = device
        held += needed
    return devices


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement."""
    Incumbent(instance, progress).offer(require_room(instance, filled(instance)))
