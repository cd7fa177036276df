"""The best placement so far, and what it takes to offer another one."""

import numpy as np

from boundmark.heuristics.placement.kernels.network import kernel_network
from boundmark.heuristics.placement.kernels.simulation import simulate, time_to_end
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Progress
from boundmark.problems.placement import PlacementInstance, PlacementSchedule

# More than any makespan.
NO_MAKESPAN = 2**60


class Incumbent:
    """Simulates placements, keeps the best one and reports every improvement.

    Attributes
    ----------
    makespan
        Of the best placement, in ticks; `NO_MAKESPAN` before there is one.
    devices
        Of the best placement, shape (n,); empty before there is one.
    priority
        With which it was scheduled, shape (n,); None for the default.
    """

    def __init__(self, instance: PlacementInstance, progress: Progress) -> None:
        self.instance = instance
        self.network = kernel_network(instance)
        self.makespan = NO_MAKESPAN
        self.devices: IntArray = np.empty(0, np.int64)
        self.priority: IntArray | None = None
        self._progress = progress
        self._starts = np.empty(instance.nodes, np.int64)
        self._moves = np.empty((len(self.network.readers), 6), np.int64)

    def simulate(self, devices: IntArray, priority: IntArray | None = None) -> int:
        """Return the makespan of a placement by list scheduling.

        Parameters
        ----------
        devices
            Of each operator, shape (n,), with room for all of them.
        priority
            Of each operator, shape (n,); the larger, the more urgent. By default, the longest path
            from its start to the end.
        """
        if priority is None:
            priority = time_to_end(self.network, devices)
        into = self._starts, self._moves
        makespan, self._count = simulate(self.network, devices, priority, *into)
        if makespan < 0:
            # Their order is all that counts, and these take the fewest bits.
            ranks = np.unique(priority, return_inverse=True)[1].astype(np.int64)
            makespan, self._count = simulate(self.network, devices, ranks, *into)
        return makespan

    def offer(self, devices: IntArray, priority: IntArray | None = None) -> int:
        """Return the makespan of a placement, and keep and report it if it is the best."""
        makespan = self.simulate(devices, priority)
        if makespan < self.makespan:
            self.makespan, self.devices, self.priority = makespan, devices.copy(), priority
            rows = self._moves[: self._count, [0, 1, 5]]
            by_key = np.lexsort((rows[:, 1], rows[:, 0]))
            self._progress.solution(PlacementSchedule(self.devices, self._starts, rows[by_key]))
        return makespan
