"""The best placement that a search has found so far."""

import numpy as np

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.heuristics.placement.room import NO_ROOM, ReservedInstance, with_all_placed
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.compiled import Simulator
from boundmark.problems.placement.feasibility import has_room_while_running, memory_held


class PlacementIncumbent(Incumbent[PlacementSchedule]):
    """Simulate placements, keep the best one and report every improvement.

    Attributes
    ----------
    instance
        What is solved.
    arrays
        The instance as kernels read it.
    priority
        With which the best placement was scheduled, shape (n,); None for the default.
    """

    def __init__(self, instance: PlacementInstance, progress: Progress) -> None:
        super().__init__(progress)
        self.instance = instance
        whole = instance.whole if isinstance(instance, ReservedInstance) else None
        self._checked = whole or instance
        self._live = _most_at_once(self._checked.graph)
        self.simulator = Simulator(instance)
        self.arrays = self.simulator.arrays
        self.priority: IntArray | None = None

    def evaluate(self, devices: IntArray, priority: IntArray | None = None) -> int:
        """Return the makespan of a placement by list scheduling, and offer the schedule.

        Without room for what is live then, it is `NO_COST`, and nothing is offered.
        """
        makespan = self.simulator.makespan(devices, priority)
        if not self._has_room(devices):
            return NO_COST
        if self.offer(makespan, lambda: self.simulator.schedule(devices)):
            self.priority = priority
        return makespan

    def require_solution(self) -> None:
        """Raise `UnsupportedError` unless there is a placement."""
        if self.cost == NO_COST:
            raise UnsupportedError(NO_ROOM)

    def _has_room(self, devices: IntArray) -> bool:
        """Whether devices have room for the live tensors of the schedule simulated last."""
        graph = self._checked.graph
        if not graph.is_live or (memory_held(graph, devices) + self._live <= graph.capacity).all():
            return True
        transfers = self._checked.transfers
        return has_room_while_running(graph, self.simulator.schedule(devices), transfers)

    def evaluate_list_schedule(self, devices: IntArray, *priorities: IntArray) -> None:
        """Evaluate a placement with the default priority and with others.

        Where some operators have found no room, evaluate the placement that `with_all_placed` makes
        of it, with the default priority alone.
        """
        if devices.min() < 0:
            self.evaluate(with_all_placed(self.instance, devices))
            return
        self.evaluate(devices)
        for priority in priorities:
            self.evaluate(devices, priority)


def _most_at_once(graph: PlacementGraph) -> int:
    """Return what all tensors take at most on one device, if all are live at once."""
    copies = np.array([1 + len(readers) for readers in graph.consumers], dtype=np.int64)
    if not graph.is_live:
        return 0
    return int((graph.tensor_memory * copies).sum() + graph.result_memory.sum())
