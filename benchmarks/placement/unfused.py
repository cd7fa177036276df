"""Schedules of fused operators as schedules of the operators that they consist of."""

from boundmark.benchmarks.placement.list_scheduled import list_scheduled
from boundmark.problems.placement import PlacementInstance, PlacementSchedule


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
    candidates = [expanded, list_scheduled(original, expanded.devices)]
    return original, min(candidates, key=original.objective)
