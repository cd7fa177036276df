"""`getf`: earliest start within a group of devices of similar speed ([GETF20])."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.kernels.earliest import earliest_start
from boundmark.heuristics.placement.programs.machine_groups import (
    assigned_groups,
    speed_groups,
    speeds,
)
from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import with_all_placed
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import UNSUPPORTED, PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    gamma: float,
    **params: Any,
) -> None:
    """Report the placement, scheduled by longest paths and in the order found.

    An operator that no device of its group supports may go anywhere.

    Parameters
    ----------
    gamma
        Speeds within a group differ by less than this factor, more than 1.

    Raises
    ------
    UnsupportedError
        If no room is found, or the linear program is not solved in time.
    """
    if not gamma > 1:
        raise InvalidInputError(f"gamma is {gamma}; expected more than 1.")
    graph = instance.graph
    speed = speeds(graph)
    group = speed_groups(speed, gamma)
    is_allowed = graph.is_supported
    if group.max() > 0:
        chosen = assigned_groups(graph, group, speed, budget)
        in_group = graph.is_supported & (group == chosen[:, None])
        is_allowed = np.where(in_group.any(axis=1)[:, None], in_group, graph.is_supported)
    best = Incumbent(instance, progress)
    duration = frozen(np.where(is_allowed, graph.duration, UNSUPPORTED))
    devices, starts = np.full((2, instance.nodes), -1, dtype=np.int64)
    placed = earliest_start(best.network._replace(duration=duration), devices, starts)
    if placed < instance.nodes:
        best.offer(with_all_placed(instance, devices))
        return
    best.offer(devices)
    best.offer(devices, -starts)
