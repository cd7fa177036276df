"""Leave room for live tensors while devices are filled with operators.

Methods choose devices by what operators take all the time. Where tensors take memory while they
are live, a schedule shows whether there was enough left for them; if there was not, the method runs
again with a part of every device's memory reserved.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.live_memory import peaks

# Reserves that are tried, in units of what is live at most when operators run one by one.
RESERVES = (0.0, 1.0, 2.0, 4.0)

NO_ROOM = "no placement was found for which the devices have room."

Run = Callable[..., None]


@dataclass(frozen=True, eq=False)
class ReservedInstance(PlacementInstance):
    """An instance whose devices state less memory than they have.

    Attributes
    ----------
    whole
        The instance with all the memory, which schedules have to keep to.
    """

    whole: PlacementInstance | None = None


def leaving_room(run: Run) -> Run:
    """Return a method that runs again with a larger reserve while its schedules have no room."""

    @wraps(run)
    def reserving(
        instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
    ) -> None:
        if not instance.graph.is_live:
            run(instance, budget, seed, progress, **params)
            return
        live = most_live(instance.graph)
        counting = _Counting(progress)
        reason = UnsupportedError(NO_ROOM)
        for share in RESERVES:
            reserve = int(share * live)
            try:
                run(_reserved(instance, reserve), budget, seed, counting, **params)
            except UnsupportedError as error:
                reason = error
            except _TooLittleError:
                break
            if counting.solutions or not live:
                break
        if not counting.solutions:
            raise reason

    return reserving


class _TooLittleError(Exception):
    """With the reserve, the operators have no room any more."""


def _reserved(instance: PlacementInstance, reserve: int) -> ReservedInstance:
    graph = instance.graph
    capacity = np.maximum(0, graph.capacity - reserve)
    try:
        small = replace(graph, capacity=frozen(capacity)) if reserve else graph
    except InvalidInputError as error:
        raise _TooLittleError from error
    return ReservedInstance(
        small, instance.transfers, None, instance.fusion, instance.features, None, instance
    )


def most_live(graph: PlacementGraph) -> int:
    """Return the peak of live memory while operators run one by one in topological order."""
    n = graph.nodes
    device = np.zeros(n, dtype=np.int64)
    starts = np.empty(n, dtype=np.int64)
    starts[graph.dag.topological_order] = np.arange(n)
    none = np.zeros((0, 3), dtype=np.int64)
    one_by_one = replace(graph, duration=frozen(np.ones_like(graph.duration)))
    return int(
        peaks(one_by_one, PlacementSchedule(device, starts, none), is_shared=True)[0]
        - graph.memory.sum()
    )


class _Counting:
    """A `Progress` that counts solutions."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.solutions = 0

    def solution(self, solution: Any) -> None:
        """Count and pass on."""
        self.solutions += 1
        self._progress.solution(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Pass on."""
        self._progress.bound(bound)
