"""The variables of the mixed-integer program ([MOIRAI24], Table II), and what their values mean."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from boundmark.bounds.placement.programs.moves import Move, possible_moves
from boundmark.bounds.placement.programs.sequences import in_order
from boundmark.bounds.placement.programs.windows import best_durations, heads_and_tails
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance, PlacementSchedule


class Columns:
    """Numbers of the columns, and when things can happen in schedules that end by the horizon.

    Attributes
    ----------
    on
        For each operator, x of the devices that support it and have room: device to column.
    start
        S of each operator.
    move_start
        S of each possible transfer.
    moved
        For each possible transfer, u: (source, target) to column.
    before, move_before
        delta of pairs of operators, and of transfers, that may be in either order: 1 if the first
        one comes first.
    """

    def __init__(self, instance: PlacementInstance, horizon: int) -> None:
        graph = instance.graph
        self.instance = instance
        self.horizon = horizon
        self.head, self.tail = heads_and_tails(graph)
        self.least = best_durations(graph)
        self.moves = possible_moves(instance)
        self.count = 1
        self.makespan = 0
        self.start = [self._new() for _ in range(graph.nodes)]
        self.move_start = [self._new() for _ in self.moves]
        self.costs = self.count
        fits = graph.is_supported & (graph.memory[:, None] <= graph.capacity)
        self.on = [{d: self._new() for d in np.flatnonzero(row).tolist()} for row in fits]
        self.moved = [{pair: self._new() for pair in self._pairs(move)} for move in self.moves]
        self.before: dict[tuple[int, int], int] = {}
        self.move_before: dict[tuple[int, int], int] = {}
        self._ancestors = _ancestors(instance)
        for v, w in combinations(range(graph.nodes), 2):
            if self.may_overlap(v, w) and set(self.on[v]) & set(self.on[w]):
                self.before[v, w] = self._new()
        for q, r in combinations(range(len(self.moves)), 2):
            if self._moves_may_overlap(self.moves[q], self.moves[r]):
                self.move_before[q, r] = self._new()

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def _pairs(self, move: Move) -> list[tuple[int, int]]:
        return [
            (d, e)
            for d in self.on[move.producer]
            for e in move.targets
            if d != e and any(e in self.on[reader] for reader in move.readers)
        ]

    def may_overlap(self, v: int, w: int) -> bool:
        """Whether two operators are in no order, neither by paths nor by their windows."""
        return not (
            self._comes_before(v, w)
            or self._comes_before(w, v)
            or self.latest_end(v) <= self.head[w]
            or self.latest_end(w) <= self.head[v]
        )

    def _comes_before(self, v: int, w: int) -> bool:
        return bool(self._ancestors[w] >> v & 1)

    def latest_end(self, v: int) -> int:
        """Return when an operator has to end."""
        return self.horizon - int(self.tail[v])

    def earliest_move(self, move: Move) -> int:
        """Return when a transfer can start."""
        return int(self.head[move.producer] + self.least[move.producer])

    def latest_arrival(self, move: Move) -> int:
        """Return when a transfer has to be over for the last one of its readers."""
        return max(self.latest_end(r) - int(self.least[r]) for r in move.readers)

    def _moves_may_overlap(self, q: Move, r: Move) -> bool:
        for first, second in ((q, r), (r, q)):
            if self.latest_arrival(first) <= self.earliest_move(second):
                return False
            last = first.readers
            if len(last) == 1 and (
                last[0] == second.producer or self._comes_before(last[0], second.producer)
            ):
                return False
        return True

    def values(self, schedule: PlacementSchedule) -> IntArray:
        """Return the columns' values for a schedule that ends by the horizon."""
        graph = self.instance.graph
        place, starts = schedule.devices.tolist(), schedule.starts.tolist()
        values = np.zeros(self.count, dtype=np.int64)
        ends = [s + int(graph.duration[v, place[v]]) for v, s in enumerate(starts)]
        values[self.makespan] = max(ends)
        values[self.start] = starts
        for v, on in enumerate(self.on):
            values[on[place[v]]] = 1
        begin = {(t, receiver): start for t, receiver, start in schedule.transfers.tolist()}
        for q, move in enumerate(self.moves):
            key = move.tensor, move.receiver
            values[self.move_start[q]] = begin.get(key, ends[move.producer])
            if key in begin:
                target = move.targets[0] if len(move.targets) == 1 else place[move.receiver]
                values[self.moved[q][place[move.producer], target]] = 1
        for (v, w), column in self.before.items():
            values[column] = ends[v] <= starts[w]
        for (q, r), column in self.move_before.items():
            values[column] = values[self.move_start[q]] <= values[self.move_start[r]]
        return values

    def schedule(self, values: NDArray[np.float64]) -> PlacementSchedule:
        """Return the schedule on the devices and in the order that a solver's values mean."""
        devices = np.array([max(on, key=lambda d: float(values[on[d]])) for on in self.on])
        moved = {
            (move.tensor, move.receiver): float(values[self.move_start[q]])
            for q, move in enumerate(self.moves)
        }
        starts = {v: float(values[column]) for v, column in enumerate(self.start)}
        return in_order(self.instance, devices, starts, moved)


def _ancestors(instance: PlacementInstance) -> list[int]:
    """Return the operators before each one as bits of an integer."""
    dag = instance.graph.dag
    ancestors = [0] * dag.nodes
    for v in dag.topological_order.tolist():
        for u in dag.producers_of(v).tolist():
            ancestors[v] |= ancestors[u] | 1 << u
    return ancestors
