"""Placements that follow a rule, on one device, in turn, or drawn.

`preferred-device` models what OpenVINO's AUTO device does with a list of candidates, the first of
which is preferred ("OpenVINO-CPU" and "OpenVINO-GPU" of [HSDAG24]): the whole model goes to the
first device that supports it. Where the preferred one does, it is the same as CPU-only and
GPU-only. AUTO answers the first requests from the processor while the other device still compiles;
that is not modelled.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.heuristics.placement.room import leaving_room, require_room, with_room
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import has_room_while_running

if TYPE_CHECKING:
    from boundmark.heuristics.placement.incumbent import PlacementIncumbent


def run_single_device(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report all operators one after the other, on each device that is better than those before."""
    graph = instance.graph
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    if not fits.any():
        raise UnsupportedError("no device supports all operators and has room for them.")
    best: Incumbent[PlacementSchedule] = Incumbent(progress)
    for device in np.flatnonzero(fits).tolist():
        schedule = _in_turn(graph, device)
        if has_room_while_running(graph, schedule, instance.transfers):
            best.offer(int(graph.duration[:, device].sum()), partial(_in_turn, graph, device))
    if best.cost == NO_COST:
        raise UnsupportedError("no device has room for all operators and what is live.")


def _in_turn(graph: PlacementGraph, device: int) -> PlacementSchedule:
    """Return the schedule of all operators on one device, in topological order."""
    order = graph.dag.topological_order
    ends = np.cumsum(graph.duration[order, device])
    starts = np.empty(graph.nodes, dtype=np.int64)
    starts[order] = ends - graph.duration[order, device]
    nothing = np.empty((0, 3), dtype=np.int64)
    return PlacementSchedule(np.full(graph.nodes, device), starts, nothing)


@leaving_room
def run_preferred_device(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    first: int,
    **params: Any,
) -> None:
    """Report the whole model on the first device, in order of preference, that takes it.

    The preferred one is `first`; the others follow by their numbers.
    """
    graph = instance.graph
    if not 0 <= first < graph.devices:
        raise InvalidInputError(f"first is {first}; expected a device, 0 to {graph.devices - 1}.")
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    for device in (first, *(other for other in range(graph.devices) if other != first)):
        if fits[device]:
            placed = np.full(graph.nodes, device, dtype=np.int64)
            _incumbent(instance, progress).evaluate(placed)
            return
    raise UnsupportedError("no device supports all operators and has room for them.")


@leaving_room
def run_round_robin(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report operators on devices in turn, in topological order."""
    graph = instance.graph
    devices = np.empty(graph.nodes, dtype=np.int64)
    devices[graph.dag.topological_order] = np.arange(graph.nodes) % graph.devices
    _incumbent(instance, progress).evaluate(require_room(instance, devices))


@leaving_room
def run_random_devices(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    samples: int,
    **params: Any,
) -> None:
    """Report each better placement of `samples` random ones.

    Placements for which no room is found do not count, unless that is all of them.
    """
    graph, best = instance.graph, _incumbent(instance, progress)
    generator = np.random.default_rng(seed)
    for sample in range(max(1, samples)):
        if sample and budget.is_spent():
            break
        # For each operator, the supporting device with the largest random key.
        keys = np.where(graph.is_supported, generator.random(graph.duration.shape), -1.0)
        drawn = keys.argmax(axis=1)
        devices = with_room(instance, drawn)
        if devices is not None:
            best.evaluate(devices)
    if best.cost == NO_COST:
        best.evaluate(require_room(instance, drawn))


def _incumbent(instance: PlacementInstance, progress: Progress) -> "PlacementIncumbent":
    # It imports compiled code, which `single-device`, one of the first methods, does not wait for.
    from boundmark.heuristics.placement.incumbent import PlacementIncumbent

    return PlacementIncumbent(instance, progress)
