"""A schedule of the whole model, joined from those of its modules."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from boundmark.bounds.checker.placement.paths import OUTSIDE
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
    for tensor, receiver in waiting:
        serving[int(graph.producer[tensor])].append((tensor, receiver))
    place = devices.tolist()
    ticks = graph.duration[np.arange(graph.nodes), devices].tolist()
    after = [0] * graph.nodes
    events: list[tuple[int, int, int, tuple[int, int]]] = []
    for at, v in enumerate(graph.dag.topological_order.tolist()):
        begin = max(after[v], starts.get(v, 0))
        events.append((begin, at, 0, (v, v)))
        for move in serving[v]:
            sent = max(begin + ticks[v], moves.get(move, 0))
            events.append((sent, at, 1, move))
            for w in waiting[move]:
                after[w] = max(after[w], sent)
        for w in graph.dag.consumers_of(v).tolist():
            after[w] = max(after[w], begin + ticks[v])
    there, begins = [0] * graph.nodes, [0] * graph.nodes
    free: dict[tuple[str, int], int] = defaultdict(int)
    rows = []
    for _, _, is_transfer, (first, second) in sorted(events):
        if not is_transfer:
            begins[first] = there[first]
            if ticks[first] > 0:
                begins[first] = max(there[first], free["run", place[first]])
                free["run", place[first]] = begins[first] + ticks[first]
            for w in graph.dag.consumers_of(first).tolist():
                there[w] = max(there[w], begins[first] + ticks[first])
            continue
        producer, consumers = int(graph.producer[first]), waiting[first, second]
        source, target = place[producer], place[consumers[0]]
        length = int(graph.times[graph.size[first], source, target])
        begin = begins[producer] + ticks[producer]
        if length > 0:
            begin = max(begin, free["send", source], free["receive", target])
            free["send", source] = free["receive", target] = begin + length
        rows.append((first, second, begin))
        for w in consumers:
            there[w] = max(there[w], begin + length)
    return PlacementSchedule(devices, np.array(begins), np.array(sorted(rows), dtype=np.int64))
