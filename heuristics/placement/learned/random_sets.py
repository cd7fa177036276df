"""`random-sets`: the best of some placements that draw one device for each co-location set.

Learned methods are to be compared with chance on equal terms: as many placements, of the same sets.
"""

from typing import Any

import numpy as np

from boundmark.heuristics.placement.learned.colocation import colocated
from boundmark.heuristics.placement.learned.learning import Evaluations
from boundmark.heuristics.placement.learned.reinforcement import allowed_devices
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


@leaving_room
def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    samples: int,
    **params: Any,
) -> None:
    """Report each better placement of `samples` random ones.

    Raises
    ------
    UnsupportedError
        If no placement is found for which the devices have room.
    """
    sets = colocated(instance.graph.dag)
    allowed = allowed_devices(instance.graph.is_supported, sets.set_of, sets.nodes)
    generator = np.random.default_rng(seed)
    evaluations = Evaluations(instance, budget, progress, max(1, samples))
    while evaluations.left or not evaluations.done:
        # The largest of random keys, of devices that support the set.
        keys = np.where(allowed, generator.random(allowed.shape), -1.0)
        evaluations.latency(keys.argmax(axis=1)[sets.set_of])
    evaluations.require_solution()
