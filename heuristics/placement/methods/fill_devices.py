"""`fill-devices`: devices get as much as they hold, one after another in topological order.

As `m-topo`, which gives all devices about the same, but fast devices can be full and slow ones
empty: where memory is short and transfers are slow, that is mostly what is needed.
"""

from typing import Any

from boundmark.heuristics.placement.schedules.filling import filled_in_turn
from boundmark.heuristics.placement.schedules.incumbent import NO_MAKESPAN, Incumbent
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best over sequences of devices.

    Raises
    ------
    UnsupportedError
        If the operators have no room in any sequence.
    """
    best = Incumbent(instance, progress)
    for devices in filled_in_turn(instance):
        best.offer(devices)
        if budget.is_spent():
            break
    if best.makespan == NO_MAKESPAN:
        raise UnsupportedError("filled one after another, the devices do not hold all operators.")
