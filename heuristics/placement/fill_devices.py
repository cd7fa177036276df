"""`fill-devices`: fill the memory of one device after another in topological order.

`m-topo` gives all devices about the same; here, fast devices can be full and slow ones empty. That
is mostly better where memory is short and transfers are slow.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.reserve import leaving_room
from boundmark.heuristics.placement.room import has_room, with_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance


@leaving_room
def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best over sequences of devices.

    Raises
    ------
    UnsupportedError
        If the operators have no room in any sequence.
    """
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

    Parameters
    ----------
    segments_per_device
        Numbers of rounds to try.
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
