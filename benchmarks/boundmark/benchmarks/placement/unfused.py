"""Schedules of fused operators as schedules of the operators that they consist of."""

from dataclasses import dataclass, field
from typing import Any

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.problem import Solution


@dataclass
class _Last:
    """Keeps the last solution."""

    solutions: list[Any] = field(default_factory=list)

    def solution(self, solution: Solution) -> None:
        self.solutions = [solution]

    def bound(self, bound: Certificate | Claim) -> None:
        raise AssertionError("heuristics have no bounds")


def unfused(
    instance: PlacementInstance, schedule: PlacementSchedule
) -> tuple[PlacementInstance, PlacementSchedule]:
    """Return the instance without fusion, and the placement there: simulated anew, if better.

    Operators may start before all inputs of their chain are there, so it may be better. The result
    is never worse than the schedule given.
    """
    assert instance.coarse is not None
    original = instance.with_parameters({"fusion": "none"})
    expanded = instance.coarse.expanded(schedule, instance.transfers)
    last = _Last()
    Incumbent(original, last).offer(expanded.devices.copy())
    candidates = [expanded, *last.solutions]
    return original, min(candidates, key=original.objective)
