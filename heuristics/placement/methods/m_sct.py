"""`m-sct`: earliest start, and devices wait for favourite children ([BAECHI20], Section 3.3)."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.kernels.earliest import favourites_first
from boundmark.heuristics.placement.programs.favourite_children import favourite_children
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import with_all_placed
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the placement, scheduled by longest paths and in the order found.

    Raises
    ------
    UnsupportedError
        If no room is found, or the linear program is not solved in time.
    """
    favourite = favourite_children(instance.graph, budget)
    best = Incumbent(instance, progress)
    devices, starts = np.full((2, instance.nodes), -1, dtype=np.int64)
    if favourites_first(best.network, favourite, devices, starts) < instance.nodes:
        best.offer(with_all_placed(instance, devices))
        return
    best.offer(devices)
    best.offer(devices, -starts)
