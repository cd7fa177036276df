"""When operators run and tensors move, once it is known on which device each operator is."""

from dataclasses import dataclass
from typing import Any

from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import check_devices
from boundmark.problems.problem import Solution

COMPLETION = (
    "operators and transfers start when list scheduling has them start, most urgent first, "
    "because the table says only where operators run"
)


@dataclass
class _Into:
    """Keeps solutions."""

    found: list[Any]

    def solution(self, solution: Solution) -> None:
        self.found.append(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        raise AssertionError("heuristics have no bounds")


def list_scheduled(instance: PlacementInstance, devices: IntArray) -> PlacementSchedule:
    """Return the schedule of a placement by the simulator that all heuristics use.

    Raises
    ------
    InvalidInputError
        If a device does not support its operators or has no room for them.
    """
    check_devices(instance.graph, devices)
    found: list[PlacementSchedule] = []
    PlacementIncumbent(instance, _Into(found)).evaluate(devices.copy())
    return found[-1]


def with_times(instance: PlacementInstance, schedule: PlacementSchedule) -> PlacementSchedule:
    """Return the schedule of the same placement; raises as `list_scheduled` does."""
    return list_scheduled(instance, schedule.devices)
