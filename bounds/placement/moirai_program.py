"""The mixed-integer program of a placement and its schedule ([MOIRAI24], Equations 4 to 8).

It is the published one, but for what `moirai_milp` says.
"""

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boundmark.bounds.mip.linear_model import LinearModel, RowCollector
from boundmark.bounds.placement.series.chain import reached
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import PER_TENSOR
from boundmark.problems.placement.simulation import in_order

# Number of first operators whose devices are restricted to break symmetry.
MOST_ORDERED = 30


class Move(NamedTuple):
    """A transfer for some of a tensor's consumers."""

    tensor: int
    # As in rows of `PlacementSchedule.transfers`: a device per tensor, a consumer per edge.
    receiver: int
    producer: int
    # The consumers that wait for it if they are on its target.
    readers: tuple[int, ...]
    # The devices that it may go to: one per tensor, any per edge.
    targets: tuple[int, ...]


def possible_moves(instance: PlacementInstance) -> list[Move]:
    """Return all transfers that some placement needs, in order of tensor and receiver."""
    graph = instance.graph
    producers = graph.producer.tolist()
    every = tuple(range(graph.devices))
    if instance.transfers == PER_TENSOR:
        return [
            Move(tensor, target, producers[tensor], readers, (target,))
            for tensor, readers in enumerate(graph.consumers)
            for target in every
        ]
    return [
        Move(tensor, reader, producers[tensor], (reader,), every)
        for tensor, readers in enumerate(graph.consumers)
        for reader in readers
    ]


def best_durations(graph: PlacementGraph) -> IntArray:
    """Return the least duration of each operator over the devices with room for it, shape (n,)."""
    fits = graph.fits
    return np.asarray(np.where(fits, graph.duration, np.iinfo(np.int64).max).min(axis=1))


def heads_and_tails(
    graph: PlacementGraph, release: IntArray | None = None, delivery: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return the longest paths before and after each operator, two of shape (n,).

    They are at least `release` and `delivery`, shape (n,), if these are given.
    """
    least = best_durations(graph)
    head, tail = np.zeros((2, graph.nodes), dtype=np.int64)
    if release is not None and delivery is not None:
        head, tail = release.copy(), delivery.copy()
    order = graph.dag.topological_order.tolist()
    for v in order:
        for u in graph.dag.producers_of(v).tolist():
            head[v] = max(head[v], head[u] + least[u])
    for v in reversed(order):
        for w in graph.dag.consumers_of(v).tolist():
            tail[v] = max(tail[v], tail[w] + least[w])
    return head, tail


def twin_classes(graph: PlacementGraph) -> list[list[int]]:
    """Return the classes of exchangeable devices that have two or more.

    They run everything in the same time, have the same memory, and exchanging them changes no time
    of a transfer.
    """
    classes: list[list[int]] = []
    for device in range(graph.devices):
        for known in classes:
            if _are_twins(graph, known[0], device):
                known.append(device)
                break
        else:
            classes.append([device])
    return [known for known in classes if len(known) > 1]


def _are_twins(graph: PlacementGraph, first: int, second: int) -> bool:
    order = np.arange(graph.devices)
    order[[first, second]] = second, first
    return bool(
        (graph.duration[:, first] == graph.duration[:, second]).all()
        and graph.capacity[first] == graph.capacity[second]
        and (graph.times[:, order][:, :, order] == graph.times).all()
    )


def first_uses(graph: PlacementGraph) -> list[tuple[int, int, tuple[int, ...], int]]:
    """Return rows (v, d, earlier, e): v is on d only if one of the earlier operators is on e.

    So the first operators, in topological order, use twins for the first time in the order of their
    numbers. `relabelled` turns any schedule into one that does.
    """
    order = graph.dag.topological_order.tolist()[:MOST_ORDERED]
    return [
        (v, device, tuple(order[:at]), before)
        for known in twin_classes(graph)
        for before, device in pairwise(known)
        for at, v in enumerate(order)
    ]


def relabelled(instance: PlacementInstance, schedule: PlacementSchedule) -> PlacementSchedule:
    """Exchange twins in a schedule so that `first_uses` holds."""
    graph = instance.graph
    becomes = np.arange(graph.devices)
    placed = schedule.devices[graph.dag.topological_order].tolist()
    first = {device: placed.index(device) for device in set(placed)}
    for known in twin_classes(graph):
        by_use = sorted(known, key=lambda device: (first.get(device, graph.nodes), device))
        becomes[by_use] = known
    rows = schedule.transfers.copy()
    if instance.transfers == PER_TENSOR:
        rows[:, 1] = becomes[rows[:, 1]]
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return PlacementSchedule(becomes[schedule.devices], schedule.starts, frozen(rows))


class Columns:
    """The numbering of the columns, and the time windows below a horizon.

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

    def __init__(
        self,
        instance: PlacementInstance,
        horizon: int,
        release: IntArray | None = None,
        delivery: IntArray | None = None,
    ) -> None:
        """Give numbers to the columns.

        No schedule is sought that takes longer than the horizon. Each operator waits for its
        `release` after the begin, and the end for its `delivery`, both of shape (n,).
        """
        graph = instance.graph
        self.instance = instance
        self.horizon = horizon
        self.head, self.tail = heads_and_tails(graph, release, delivery)
        self.least = best_durations(graph)
        self.moves = possible_moves(instance)
        self.count = 1
        self.makespan = 0
        self.start = [self._new() for _ in range(graph.nodes)]
        self.move_start = [self._new() for _ in self.moves]
        self.costs = self.count
        fits = graph.fits
        self.on = [{d: self._new() for d in np.flatnonzero(row).tolist()} for row in fits]
        self.moved = [{pair: self._new() for pair in self._pairs(move)} for move in self.moves]
        self.before: dict[tuple[int, int], int] = {}
        self.move_before: dict[tuple[int, int], int] = {}
        self._ancestors, _ = reached(graph)
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
        """Whether neither paths nor windows order two operators."""
        return not (
            self._comes_before(v, w)
            or self._comes_before(w, v)
            or self.latest_end(v) <= self.head[w]
            or self.latest_end(w) <= self.head[v]
        )

    def _comes_before(self, v: int, w: int) -> bool:
        return bool(self._ancestors[w] >> v & 1)

    def latest_end(self, v: int) -> int:
        """Return the latest end of an operator."""
        return self.horizon - int(self.tail[v])

    def earliest_move(self, move: Move) -> int:
        """Return the earliest start of a transfer."""
        return int(self.head[move.producer] + self.least[move.producer])

    def latest_arrival(self, move: Move) -> int:
        """Return the latest end of a transfer, by its last reader."""
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
        """Return the schedule encoded by a solver's values."""
        devices = np.array([max(on, key=lambda d: float(values[on[d]])) for on in self.on])
        moved = {
            (move.tensor, move.receiver): float(values[self.move_start[q]])
            for q, move in enumerate(self.moves)
        }
        return in_order(self.instance, devices, values[self.start].tolist(), moved)


class _Rows(RowCollector):
    """Builder of rows, one at a time."""

    def at_least(self, terms: Mapping[int, int], lower: int) -> None:
        """Add ``sum of coefficient * column >= lower``."""
        kept = {column: value for column, value in terms.items() if value}
        columns = np.array([list(kept)], dtype=np.int64).reshape(1, -1)
        self.add(columns, np.array(list(kept.values()), dtype=np.int64), lower)


def linear_model(columns: Columns) -> LinearModel:
    """Return the program for the columns; it minimises the makespan."""
    rows = _Rows()
    _add_operators(columns, rows)
    _add_moves(columns, rows)
    _add_operator_pairs(columns, rows)
    _add_move_pairs(columns, rows)
    lower, upper = np.zeros(columns.count, dtype=np.int64), np.ones(columns.count, dtype=np.int64)
    upper[: columns.costs] = columns.horizon
    lower[columns.makespan] = int((columns.head + columns.least + columns.tail).max())
    lower[columns.start] = columns.head
    is_cost = np.arange(columns.count) < columns.costs
    return LinearModel(
        lower=frozen(lower),
        upper=frozen(upper),
        is_integer=~is_cost,
        is_cost=is_cost,
        objective=columns.makespan,
        **rows.csr(),
    )


def _ticks(columns: Columns, v: int, sign: int = 1) -> dict[int, int]:
    """Return an operator's duration as terms."""
    duration = columns.instance.graph.duration
    return {column: sign * int(duration[v, d]) for d, column in columns.on[v].items()}


def _add_operators(columns: Columns, rows: _Rows) -> None:
    """Add Equations 4, 4a to 4c and 5, and the order among exchangeable devices."""
    graph = columns.instance.graph
    for v, on in enumerate(columns.on):
        rows.add(np.array([list(on.values())]), np.ones(len(on), dtype=np.int64), 1, 1)
        rows.at_least(
            {columns.makespan: 1, columns.start[v]: -1, **_ticks(columns, v, -1)},
            int(columns.tail[v]),
        )
    for u, w in graph.dag.edge_pairs().tolist():
        rows.at_least({columns.start[w]: 1, columns.start[u]: -1, **_ticks(columns, u, -1)}, 0)
    for d, capacity in enumerate(graph.capacity.tolist()):
        held = {on[d]: -int(graph.memory[v]) for v, on in enumerate(columns.on) if d in on}
        if -sum(held.values()) > capacity:
            rows.at_least(held, -capacity)
    for v, d, earlier, e in first_uses(graph):
        if d in columns.on[v]:
            used = {columns.on[u][e]: 1 for u in earlier if e in columns.on[u]}
            rows.at_least({**used, columns.on[v][d]: -1}, 0)


def _add_moves(columns: Columns, rows: _Rows) -> None:
    """Add Equation 7: which transfers happen, and which operators wait for them."""
    graph = columns.instance.graph
    is_shared = columns.instance.transfers == PER_TENSOR
    for q, move in enumerate(columns.moves):
        moved, begin = columns.moved[q], columns.move_start[q]
        source = columns.on[move.producer]
        ticks = {
            column: int(graph.times[graph.size[move.tensor], d, e])
            for (d, e), column in moved.items()
        }
        if moved:
            rows.at_least(dict.fromkeys(moved.values(), -1), -1)
        start = columns.start[move.producer]
        rows.at_least({begin: 1, start: -1, **_ticks(columns, move.producer, -1)}, 0)
        for reader in move.readers:
            target = columns.on[reader]
            for (d, e), column in moved.items():
                if e in target:
                    rows.at_least({column: 1, source[d]: -1, target[e]: -1}, -1)
            for e in move.targets:
                arriving = {column: 1 for (_, to), column in moved.items() if to == e}
                if arriving and e in target:
                    local = {source[e]: 1} if e in source else {}
                    rows.at_least({**arriving, **local, target[e]: -1}, 0)
            waits = {columns.start[reader]: 1, begin: -1, **{c: -t for c, t in ticks.items()}}
            if is_shared:
                (e,) = move.targets
                if e in target:
                    # The reader waits only if it is on the target.
                    enough = columns.latest_arrival(move) - int(columns.head[reader])
                    rows.at_least({**waits, target[e]: -max(0, enough)}, -max(0, enough))
            else:
                rows.at_least(waits, 0)


def _add_operator_pairs(columns: Columns, rows: _Rows) -> None:
    """Add Equation 6: a device runs one operator at a time."""
    duration = columns.instance.graph.duration
    for (v, w), before in columns.before.items():
        for d in columns.on[v].keys() & columns.on[w].keys():
            if not (duration[v, d] and duration[w, d]):
                continue
            for first, second, is_first in ((v, w, True), (w, v, False)):
                enough = columns.latest_end(first) - int(columns.head[second])
                # Wherever it runs: its end on this device may be beyond what `enough` allows.
                terms = _ticks(columns, first, -1)
                for u in (v, w):
                    terms[columns.on[u][d]] = terms.get(columns.on[u][d], 0) - enough
                terms[columns.start[second]] = 1
                terms[columns.start[first]] = -1
                terms[before] = -enough if is_first else enough
                rows.at_least(terms, -3 * enough if is_first else -2 * enough)


def _add_move_pairs(columns: Columns, rows: _Rows) -> None:
    """Add Equation 8: a device sends one tensor, and receives one, at a time."""
    graph = columns.instance.graph
    for (q, r), before in columns.move_before.items():
        for end in (0, 1):
            for d in range(graph.devices):
                uses = []
                for move in (q, r):
                    table = graph.times[graph.size[columns.moves[move].tensor]]
                    uses.append(
                        {
                            column: int(table[pair])
                            for pair, column in columns.moved[move].items()
                            if pair[end] == d and table[pair]
                        }
                    )
                if not all(uses):
                    continue
                for first, second, ticks, is_first in (
                    (q, r, uses[0], True),
                    (r, q, uses[1], False),
                ):
                    enough = columns.latest_arrival(columns.moves[first]) - columns.earliest_move(
                        columns.moves[second]
                    )
                    terms = {column: -enough for use in uses for column in use}
                    for column, duration in ticks.items():
                        terms[column] -= duration
                    terms[columns.move_start[second]] = 1
                    terms[columns.move_start[first]] = -1
                    terms[before] = -enough if is_first else enough
                    rows.at_least(terms, -3 * enough if is_first else -2 * enough)
