"""`placement-brkga`: genetic search over devices and priorities ([BRKGA11])."""

from typing import Any

import numpy as np

from boundmark.heuristics.evolution import Keys, evolve
from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import leaving_room, with_room
from boundmark.heuristics.placement.starts import constructed
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.compiled import time_to_end


@leaving_room
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
    """Report each better placement, starting from those of the simple methods."""
    best = PlacementIncumbent(instance, progress)
    code = KeyCode(instance)
    initial = []
    for devices, urgency in constructed(instance, best.arrays):
        priorities = [time_to_end(best.arrays, devices)]
        if urgency is not None:
            priorities.append(urgency)
        for priority in priorities:
            best.evaluate(devices, priority)
            initial.append(code.encoded(devices, priority))
        if budget.is_spent():
            return

    def makespan(keys: Keys) -> int:
        devices, priority = code.decoded(keys)
        return NO_COST if devices is None else best.evaluate(np.array(devices), priority)

    evaluations = population * generations
    evolve(2 * instance.nodes, makespan, population, evaluations, seed, budget, initial)
    best.require_solution()


class KeyCode:
    """Encode a placement and priorities as 2 n keys in [0, 1]: n for devices, n for priorities.

    The devices that support an operator share [0, 1] equally, in the order of their numbers.
    """

    def __init__(self, instance: PlacementInstance) -> None:
        self.instance = instance
        supported = instance.graph.is_supported
        self.count = supported.sum(axis=1)
        # The devices that support an operator, first.
        self.ranked = np.argsort(~supported, axis=1, kind="stable")
        self.rank = np.argsort(self.ranked, axis=1)
        self.every = np.arange(instance.nodes)

    def decoded(self, keys: Keys) -> tuple[IntArray | None, IntArray]:
        """Return the placement, None without room, and the priorities; both shape (n,)."""
        n = self.instance.nodes
        place = np.minimum((keys[:n] * self.count).astype(np.int64), self.count - 1)
        devices = with_room(self.instance, self.ranked[self.every, place])
        return devices, (keys[n:] * 2**40).astype(np.int64)

    def encoded(self, devices: IntArray, priority: IntArray) -> Keys:
        """Return keys for a placement and for the order of priorities."""
        place = self.rank[self.every, devices]
        order = np.argsort(np.argsort(priority, kind="stable"), kind="stable")
        return np.concatenate([(place + 0.5) / self.count, (order + 0.5) / len(order)])
