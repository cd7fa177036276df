"""Placements and priorities as keys in [0, 1], two per operator."""

import numpy as np

from boundmark.heuristics.evolution import Keys
from boundmark.heuristics.placement.schedules.room import with_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance

# Keys as integer priorities.
FINEST = 2**40


class KeyCode:
    """Reads and writes keys: the first n stand for devices, the others for priorities.

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
        """Return devices, None if no room was found for them, and priorities; both (n,)."""
        n = self.instance.nodes
        place = np.minimum((keys[:n] * self.count).astype(np.int64), self.count - 1)
        devices = with_room(self.instance, self.ranked[self.every, place])
        return devices, (keys[n:] * FINEST).astype(np.int64)

    def encoded(self, devices: IntArray, priority: IntArray) -> Keys:
        """Return keys that mean these devices, and the order of these priorities."""
        place = self.rank[self.every, devices]
        order = np.argsort(np.argsort(priority, kind="stable"), kind="stable")
        return np.concatenate([(place + 0.5) / self.count, (order + 0.5) / len(order)])
