"""Simulate placements, and count these evaluations."""

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import with_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


class Evaluations:
    """Simulate placements as long as there are evaluations and time left.

    Attributes
    ----------
    best
        The best placement so far, which reports every improvement.
    done
        Number of evaluations; placements without room count, too.
    """

    def __init__(
        self, instance: PlacementInstance, budget: Budget, progress: Progress, most: int
    ) -> None:
        self.instance = instance
        self.best = PlacementIncumbent(instance, progress)
        self.done = 0
        self._budget = budget
        self._most = most

    @property
    def left(self) -> int:
        """Number of evaluations left; 0 if the time is up."""
        return 0 if self._budget.is_spent() else max(0, self._most - self.done)

    def latency(self, devices: IntArray) -> float:
        """Return the makespan of a placement in ticks, infinite if no room is found for it.

        Operators that a device does not support or has no room for move, as for other heuristics.

        Parameters
        ----------
        devices
            Of each operator, shape (n,).
        """
        self.done += 1
        placed = with_room(self.instance, np.asarray(devices, dtype=np.int64))
        return float("inf") if placed is None else float(self.best.evaluate(placed))

    def require_solution(self) -> None:
        """Raise `UnsupportedError` unless there is a placement."""
        if self.best.cost == NO_COST:
            raise UnsupportedError("no placement was found for which the devices have room.")
