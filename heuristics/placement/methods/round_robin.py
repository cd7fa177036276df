"""`round-robin`: operators to devices in turn, in topological order."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import require_room
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement."""
    graph = instance.graph
    devices = np.empty(graph.nodes, dtype=np.int64)
    devices[graph.dag.topological_order] = np.arange(graph.nodes) % graph.devices
    Incumbent(instance, progress).offer(require_room(instance, devices))
