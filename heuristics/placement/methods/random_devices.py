"""`random-devices`: the best of some placements drawn at random."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import NO_MAKESPAN, Incumbent
from boundmark.heuristics.placement.schedules.room import require_room, with_room
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    samples: int,
    **params: Any,
) -> None:
    """Report each placement that is better than those before.

    Those for which no room is found do not count, unless that is all of them.
    """
    graph, best = instance.graph, Incumbent(instance, progress)
    generator = np.random.default_rng(seed)
    for sample in range(max(1, samples)):
        if sample and budget.is_spent():
            break
        # The largest of random keys, of devices that support the operator.
        keys = np.where(graph.is_supported, generator.random(graph.duration.shape), -1.0)
        drawn = keys.argmax(axis=1)
        devices = with_room(instance, drawn)
        if devices is not None:
            best.offer(devices)
    if best.makespan == NO_MAKESPAN:
        best.offer(require_room(instance, drawn))
