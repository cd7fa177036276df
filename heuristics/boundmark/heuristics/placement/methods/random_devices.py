"""`random-devices`: the best of some placements drawn at random."""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.schedules.incumbent import Incumbent
from boundmark.heuristics.placement.schedules.room import require_room
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    samples: int,
    **params: Any,
) -> None:
    """Report each placement that is better than those before."""
    graph, best = instance.graph, Incumbent(instance, progress)
    generator = np.random.default_rng(seed)
    for sample in range(samples):
        if sample and budget.is_spent():
            return
        # The largest of random keys, of devices that support the operator.
        keys = np.where(graph.is_supported, generator.random(graph.duration.shape), -1.0)
        best.offer(require_room(instance, keys.argmax(axis=1)))


RANDOM_DEVICES = Method(
    name="random-devices",
    problem="placement",
    kind="heuristic",
    summary="The best of 100 placements drawn at random.",
    run=run,
    params={"samples": 100},
    seeded=True,
)
