"""A schedule of the whole model, joined from those of its modules."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from boundmark.bounds.checker.placement.paths import OUTSIDE
from boundmark.bounds.placement.schedules import in_order
from boundmark.bounds.placement.series.certificate import Durations, shortest_way
from boundmark.bounds.placement.series.parts import Pair, Part
from boundmark.problems.arrays import IntArray
from boundmark.problems.placement import PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import memory_held, needed_transfers

# Ticks of a pair of devices without a known schedule.
UNKNOWN = 2**55


def best_known(part: Part, pair: Pair) -> int:
    """Return the ticks of a module's best schedule."""
    found = part.best_ticks(pair)
    return UNKNOWN if found is None else found


def put_together(
    instance: PlacementInstance, parts: Sequence[Part], duration: Durations
) -> PlacementSchedule | None:
    """Join the modules' best schedules, and insert the operators outside the modules.

    Returns
    -------
    PlacementSchedule or None
        None if there is a module without schedules, or the devices lack memory.
    """
    way = shortest_way(parts, duration, best_known)
    devices = np.full(instance.nodes, -1, dtype=np.int64)
    starts: dict[int, int] = {}
    moves: dict[tuple[int, int], int] = {}
    now = 0
    for part, pair in zip(parts, way, strict=True):
        schedule = part.best(pair)
        if schedule is None or part.module is None:
            return None
        operators = part.operators
        devices[operators] = schedule.devices
        for operator, start in zip(operators, schedule.starts, strict=True):
            if operator != part.first:
                starts[operator] = now + start
        for arc, device, start in schedule.moves:
            receiver = device if part.module.is_shared else operators[part.module.target[arc]]
            moves[int(part.module.tensor[arc]), receiver] = now + start
        if part.last != OUTSIDE:
            starts[part.last] = now + schedule.ticks
            now = starts[part.last] + duration[part.last][pair[1]]
    _place_others(instance, devices)
    if (memory_held(instance.graph, devices) > instance.graph.capacity).any():
        return None
    return scheduled(instance, devices, starts, moves)


def _place_others(instance: PlacementInstance, devices: IntArray) -> None:
    """Place operators outside all modules: on a neighbour's device, else on their fastest."""
    graph = instance.graph
    fastest = np.where(graph.is_supported, graph.duration, np.iinfo(np.int64).max).argmin(axis=1)
    order = graph.dag.topological_order.tolist()
    for v in [*reversed(order), *order]:
        if devices[v] < 0:
            near = [*graph.dag.consumers_of(v).tolist(), *graph.dag.producers_of(v).tolist()]
            known = [devices[u] for u in near if devices[u] >= 0]
            if known and graph.is_supported[v, known[0]]:
                devices[v] = known[0]
    devices[devices < 0] = fastest[devices < 0]


def scheduled(
    instance: PlacementInstance,
    devices: IntArray,
    starts: dict[int, int],
    moves: dict[tuple[int, int], int],
) -> PlacementSchedule:
    """Schedule operators and transfers in the order of given starts.

    Parameters
    ----------
    starts, moves
        When they start, as far as that is known; the others follow what they wait for.
    """
    graph = instance.graph
    waiting = needed_transfers(graph, devices, instance.transfers)
    serving: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for move in waiting:
        serving[int(graph.producer[move[0]])].append(move)
    ticks = graph.duration[np.arange(graph.nodes), devices].tolist()
    after = [0.0] * graph.nodes
    begins: dict[int, float] = {}
    sent: dict[tuple[int, int], float] = {}
    for v in graph.dag.topological_order.tolist():
        begins[v] = max(after[v], starts.get(v, 0))
        end = begins[v] + ticks[v]
        for move in serving[v]:
            sent[move] = max(end, moves.get(move, 0))
            for w in waiting[move]:
                after[w] = max(after[w], sent[move])
        for w in graph.dag.consumers_of(v).tolist():
            after[w] = max(after[w], end)
    return in_order(instance, devices, begins, sent)
