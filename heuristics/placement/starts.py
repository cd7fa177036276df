"""Placements from which searches start, and `fill-devices`, which reports some of them.

`fill-devices` fills the memory of one device after another in topological order. `m-topo` gives all
devices about the same; here, fast devices can be full and slow ones empty. That is mostly better
where memory is short and transfers are slow.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.baechi import favourite_children, filled
from boundmark.heuristics.placement.greedy_kernels import earliest_finish, earliest_start
from boundmark.heuristics.placement.heft import by_rank, looking_ahead, mean_ranks
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import has_room, leaving_room, packed, with_room
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import UNSUPPORTED, PlacementGraph, PlacementInstance
from boundmark.problems.placement.compiled import PlacementArrays, Simulator


@leaving_room
def run_fill_devices(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best over sequences of devices."""
    best = PlacementIncumbent(instance, progress)
    for devices in filled_in_turn(instance):
        best.evaluate(devices)
        if budget.is_spent():
            break
    if best.cost == NO_COST:
        raise UnsupportedError("filled one after another, the devices do not hold all operators.")


def filled_in_turn(instance: PlacementInstance) -> Iterator[IntArray]:
    """Yield placements in which each device of a sequence gets what its memory holds.

    Operators come in topological order, so that few tensors are moved. Up to 4 devices are tried in
    every sequence, more devices in the rotations of their order by speed. Placements without room
    are left out.
    """
    for sequence in _sequences(instance):
        devices = _filled(instance, sequence)
        if has_room(instance, devices):
            yield devices


def dealt_in_turn(
    instance: PlacementInstance,
    segments_per_device: Sequence[int] = (2, 3, 4, 6, 8, 12, 16, 32, 64),
) -> Iterator[IntArray]:
    """Yield placements in which segments of the topological order are dealt to devices in turn.

    Each device gets one segment in each round, with work in proportion to its speed. In an order by
    layers, devices have parts of all layers, and layers of recurrent models overlap. Operators
    without room move, if that helps.
    """
    graph = instance.graph
    order = graph.dag.topological_order
    ticks = np.where(graph.is_supported, graph.duration, graph.duration.max())
    share = 1 / np.maximum(1, ticks.sum(axis=0))
    until = np.cumsum(share / share.sum())
    work = ticks.min(axis=1)[order]
    # The fraction of all work before the middle of each operator.
    done = (np.cumsum(work) - work / 2) / max(1, work.sum())
    for rounds in segments_per_device:
        devices = np.empty(graph.nodes, dtype=np.int64)
        devices[order] = np.searchsorted(until, done * rounds % 1).clip(max=graph.devices - 1)
        placed = with_room(instance, devices)
        if placed is not None:
            yield placed


def _filled(instance: PlacementInstance, sequence: Sequence[int]) -> IntArray:
    """Fill the devices of a sequence; change to the next one for lack of support or room."""
    graph = instance.graph
    memory, left = graph.memory.tolist(), graph.capacity.tolist()
    supported = graph.is_supported.tolist()
    devices = np.empty(graph.nodes, dtype=np.int64)
    at, last = 0, len(sequence) - 1
    for v in graph.dag.topological_order.tolist():
        while at < last and (memory[v] > left[sequence[at]] or not supported[v][sequence[at]]):
            at += 1
        devices[v] = sequence[at]
        left[sequence[at]] -= memory[v]
    return devices


def _sequences(instance: PlacementInstance) -> Iterator[tuple[int, ...]]:
    graph = instance.graph
    every = range(graph.devices)
    if graph.devices <= 4:
        yield from permutations(every)
        return
    total = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
    by_speed = np.argsort(total, kind="stable").tolist()
    for at in every:
        yield (*by_speed[at:], *by_speed[:at])


# A placement, and the priorities in whose order it was found, or None; both shape (n,).
Start: TypeAlias = tuple[IntArray, IntArray | None]


def constructed(instance: PlacementInstance, arrays: PlacementArrays) -> Iterator[Start]:
    """Yield placements of simple methods: each device, devices in turn, and list schedules.

    If none of them has room, yield the one that an integer program finds, if it finds one.
    """
    has_found = False
    for start in _simple_starts(instance, arrays):
        has_found = True
        yield start
    if not has_found:
        placed = packed(instance, filled(instance))
        if placed is not None and has_room(instance, placed):
            yield placed, None


def _simple_starts(instance: PlacementInstance, arrays: PlacementArrays) -> Iterator[Start]:
    graph = instance.graph
    for device in range(graph.devices):
        placed = with_room(instance, np.full(graph.nodes, device, dtype=np.int64))
        if placed is not None:
            yield placed, None
    placed = with_room(instance, filled(instance))
    if placed is not None:
        yield placed, None
    for several in (filled_in_turn(instance), dealt_in_turn(instance)):
        best = min(several, key=Simulator(instance).makespan, default=None)
        if best is not None:
            yield best, None
    yield from (*_earliest_starts(graph, arrays), *_waiting(graph, arrays))
    sequence, handicap = by_rank(instance, mean_ranks(graph, arrays)), np.zeros_like(graph.duration)
    devices, starts = earliest_finish(arrays, sequence, handicap)
    if devices.min() >= 0:
        yield devices, -starts
    # So many prices of memory are tried where it is short.
    price_trials = 50
    ahead = looking_ahead(instance, arrays, price_trials, np.random.default_rng(0))
    placements = (placed for placed, _ in ahead if placed.min() >= 0)
    best = min(placements, key=Simulator(instance).makespan, default=None)
    if best is not None:
        yield best, None


def _earliest_starts(graph: PlacementGraph, arrays: PlacementArrays) -> Iterator[Start]:
    """Yield the placements of m-etf on all devices and on the fastest ones, if they have room."""
    total = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
    fastest_first = np.argsort(total, kind="stable")
    for count in range(graph.devices, 1, -1):
        duration = graph.duration.copy()
        duration[:, fastest_first[count:]] = UNSUPPORTED
        few = arrays._replace(duration=frozen(duration))
        devices, starts = earliest_start(few, np.full(graph.nodes, -1))
        if devices.min() >= 0:
            yield devices, -starts


def _waiting(graph: PlacementGraph, arrays: PlacementArrays) -> Iterator[Start]:
    """Yield the placement of m-sct, if it has room and its linear program takes at most 5 s.

    Models of 8,000 operators take 0.5 s.
    """
    with suppress(UnsupportedError):
        favourite = favourite_children(graph, Budget(5.0))
        devices, starts = earliest_start(arrays, favourite)
        if devices.min() >= 0:
            yield devices, -starts
