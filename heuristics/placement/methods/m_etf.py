"""`m-etf`: what can start first, where it can ([BAECHI20], Section 3.2, after [ETF89])."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.kernels.earliest import earliest_start
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import with_all_placed
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths and in the order found."""
    best = Incumbent(instance, progress)
    devices, starts = np.full((2, instance.nodes), -1, dtype=np.int64)
    if earliest_start(best.network, devices, starts) < instance.nodes:
        best.offer(with_all_placed(instance, devices))
        return
    best.offer(devices)
    best.offer(devices, -starts)
