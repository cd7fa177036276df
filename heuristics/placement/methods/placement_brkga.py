"""`placement-brkga`: genetic search over devices and priorities ([BRKGA11])."""

from typing import Any

import numpy as np

from boundmark.heuristics.evolution import BrkgaSettings, Keys, evolve
from boundmark.heuristics.placement.kernels.simulation import time_to_end
from boundmark.heuristics.placement.schedules.incumbent import NO_MAKESPAN, Incumbent
from boundmark.heuristics.placement.searches.keys import KeyCode
from boundmark.heuristics.placement.searches.starts import constructed
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    population: int,
    generations: int,
    **params: Any,
) -> None:
    """Report each placement that is better than those before, beginning with the simple methods'.

    Raises
    ------
    UnsupportedError
        If no placement is found for which the devices have room.
    """
    best = Incumbent(instance, progress)
    code = KeyCode(instance)
    initial = []
    for devices, urgency in constructed(instance, best.network):
        priorities = [time_to_end(best.network, devices)]
        if urgency is not None:
            priorities.append(urgency)
        for priority in priorities:
            best.offer(devices, priority)
            initial.append(code.encoded(devices, priority))
        if budget.is_spent():
            return

    def makespan(keys: Keys) -> int:
        devices, priority = code.decoded(keys)
        return NO_MAKESPAN if devices is None else best.offer(np.array(devices), priority)

    settings = BrkgaSettings(population, population * generations)
    evolve(2 * instance.nodes, makespan, settings, seed, budget, initial)
    if best.makespan == NO_MAKESPAN:
        raise UnsupportedError("no placement was found for which the devices have room.")
