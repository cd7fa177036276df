"""`single-device`: everything on one device, for each that supports all and has room for it."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best device."""
    graph, best = instance.graph, Incumbent(instance, progress)
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    if not fits.any():
        raise UnsupportedError("no device supports all operators and has room for them.")
    for device in np.flatnonzero(fits).tolist():
        best.offer(np.full(graph.nodes, device, dtype=np.int64))
