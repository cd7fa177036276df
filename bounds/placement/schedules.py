"""A first schedule, transfers, windows and exchangeable devices, for both exact programs."""

import heapq
import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from boundmark.bounds.best import Best
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.placement import PlacementGraph, PlacementInstance, PlacementSchedule
from boundmark.problems.placement.feasibility import (
    PER_TENSOR,
    has_room_while_running,
    needed_transfers,
)

# Number of random placements tried where memory is short.
TRIALS = 1000

# Number of first operators whose devices are restricted to break symmetry.
MOST_OPERATORS = 30

# A tensor and its receiver.
Key = tuple[int, int]


def in_order(
    instance: PlacementInstance,
    devices: IntArray,
    starts: Mapping[int, float],
    moved: Mapping[Key, float],
) -> PlacementSchedule:
    """Schedule all operators and transfers as early as possible, in the order of given times.

    Parameters
    ----------
    devices
        Of each operator, shape (n,).
    starts, moved
        About when operators and needed transfers start; nothing comes before what it waits for,
        whatever these say. Transfers that are not in there come as soon as their tensors.
    """
    graph = instance.graph
    place = devices.tolist()
    waiting = needed_transfers(graph, devices, instance.transfers)
    keys = sorted(waiting)
    first_move = graph.nodes
    count = first_move + len(keys)
    successors: list[list[int]] = [[] for _ in range(count)]
    for tensor, readers in enumerate(graph.consumers):
        producer = int(graph.producer[tensor])
        local = [reader for reader in readers if place[reader] == place[producer]]
        successors[producer].extend(local)
    ticks = [int(graph.duration[v, d]) for v, d in enumerate(place)]
    uses: list[tuple[str, ...]] = [(f"run {d}",) for d in place]
    order = [float(starts[v]) for v in range(graph.nodes)]
    for at, (tensor, receiver) in enumerate(keys, first_move):
        producer = int(graph.producer[tensor])
        served = waiting[tensor, receiver]
        source, target = place[producer], place[served[0]]
        successors[producer].append(at)
        successors[at].extend(served)
        ticks.append(int(graph.times[graph.size[tensor], source, target]))
        uses.append((f"send {source}", f"receive {target}"))
        order.append(float(moved.get((tensor, receiver), order[producer])))
    missing = [0] * count
    for row in successors:
        for item in row:
            missing[item] += 1
    begin = [0] * count
    free: dict[str, int] = {}
    ready = [(order[item], item) for item in range(count) if not missing[item]]
    heapq.heapify(ready)
    while ready:
        _, item = heapq.heappop(ready)
        if ticks[item]:
            begin[item] = max([begin[item], *(free.get(use, 0) for use in uses[item])])
            free.update(dict.fromkeys(uses[item], begin[item] + ticks[item]))
        for after in successors[item]:
            begin[after] = max(begin[after], begin[item] + ticks[item])
            missing[after] -= 1
            if not missing[after]:
                heapq.heappush(ready, (order[after], after))
    rows = [(*key, begin[at]) for at, key in enumerate(keys, first_move)]
    return PlacementSchedule(
        devices, np.array(begin[:first_move]), np.array(rows, np.int64).reshape(-1, 3)
    )


def offer(best: Best, instance: PlacementInstance, schedule: PlacementSchedule) -> None:
    """Report a schedule if devices have room for live tensors, which the models ignore."""
    if has_room_while_running(instance.graph, schedule, instance.transfers):
        best.solution(schedule)


def quick_schedule(instance: PlacementInstance) -> PlacementSchedule | None:
    """Return the best of a few quick schedules; None if memory is too short for all.

    On each single device; and each operator where it ends first, ports left aside, where operators
    come by longest paths of their best durations. Without any, devices are filled one after
    another; without room there, all are on random devices with room.
    """
    candidates = [_earliest_ends(instance), *_single_devices(instance)]
    found = [
        schedule
        for schedule in candidates
        if schedule is not None
        and has_room_while_running(instance.graph, schedule, instance.transfers)
    ]
    if not found:
        return _in_segments(instance) or _somewhere(instance)
    return min(found, key=instance.objective)


def _single_devices(instance: PlacementInstance) -> list[PlacementSchedule]:
    graph = instance.graph
    fits = graph.is_supported.all(axis=0) & (graph.memory.sum() <= graph.capacity)
    starts = {v: float(at) for at, v in enumerate(graph.dag.topological_order.tolist())}
    return [
        in_order(instance, np.full(graph.nodes, device, dtype=np.int64), starts, {})
        for device in np.flatnonzero(fits).tolist()
    ]


def _earliest_ends(instance: PlacementInstance) -> PlacementSchedule | None:
    """Place each operator where it ends first; return None if one finds no room."""
    graph = instance.graph
    best = np.where(graph.is_supported, graph.duration, graph.duration.max() + 1).min(axis=1)
    tail = best.copy()
    order = graph.dag.topological_order.tolist()
    for v in reversed(order):
        tail[v] += max((int(tail[w]) for w in graph.dag.consumers_of(v).tolist()), default=0)
    inputs: list[list[int]] = [[] for _ in range(graph.nodes)]
    for tensor, readers in enumerate(graph.consumers):
        for reader in readers:
            inputs[reader].append(tensor)
    rank = {v: at for at, v in enumerate(order)}
    devices, ends = np.full((2, graph.nodes), -1, dtype=np.int64)
    free, left = np.zeros(graph.devices, dtype=np.int64), graph.capacity.copy()
    starts: dict[int, float] = {}
    for v in sorted(order, key=lambda v: (-int(tail[v]), rank[v])):
        there = free.copy()
        if inputs[v]:
            sources = graph.producer[inputs[v]]
            arrival = ends[sources][:, None] + graph.times[graph.size[inputs[v]], devices[sources]]
            there = np.maximum(there, arrival.max(axis=0))
        fits = graph.is_supported[v] & (graph.memory[v] <= left)
        if not fits.any():
            return None
        finish = np.where(fits, there + graph.duration[v], np.iinfo(np.int64).max)
        d = int(finish.argmin())
        devices[v], ends[v], starts[v] = d, finish[d], float(there[d])
        free[d] = finish[d]
        left[d] -= graph.memory[v]
    return in_order(instance, devices, starts, {})


def _in_segments(instance: PlacementInstance) -> PlacementSchedule | None:
    """Fill one device after another in topological order; keep more and more free for tensors."""
    graph = instance.graph
    order = graph.dag.topological_order.tolist()
    starts = {v: float(at) for at, v in enumerate(order)}
    total = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
    sequence = np.argsort(total, kind="stable").tolist()
    largest = int((graph.needed - graph.memory).max())
    for reserve in dict.fromkeys((0, largest, 2 * largest, 4 * largest)):
        left = (graph.capacity - reserve).tolist()
        devices = np.full(graph.nodes, -1, dtype=np.int64)
        at = 0
        for v in order:
            needed = int(graph.memory[v])
            while at < len(sequence) and (
                needed > left[sequence[at]] or not graph.is_supported[v, sequence[at]]
            ):
                at += 1
            if at == len(sequence):
                break
            devices[v] = sequence[at]
            left[sequence[at]] -= needed
        else:
            schedule = in_order(instance, devices, starts, {})
            if has_room_while_running(graph, schedule, instance.transfers):
                return schedule
    return None


def _somewhere(instance: PlacementInstance) -> PlacementSchedule | None:
    """Return a schedule of the first random placement that fits into the memory."""
    graph = instance.graph
    random = np.random.default_rng(1)
    starts = {v: float(at) for at, v in enumerate(graph.dag.topological_order.tolist())}
    for _ in range(TRIALS):
        left = graph.capacity.copy()
        devices = np.full(graph.nodes, -1, dtype=np.int64)
        # Largest first, roughly.
        for v in np.argsort(-graph.memory * random.uniform(0.7, 1.3, graph.nodes)).tolist():
            fits = np.flatnonzero(graph.is_supported[v] & (graph.memory[v] <= left))
            if not len(fits):
                break
            devices[v] = random.choice(fits)
            left[devices[v]] -= graph.memory[v]
        else:
            schedule = in_order(instance, devices, starts, {})
            if has_room_while_running(graph, schedule, instance.transfers):
                return schedule
    return None


class Move(NamedTuple):
    """A transfer for some of a tensor's consumers.

    Attributes
    ----------
    receiver
        As in rows of `PlacementSchedule.transfers`: a device per tensor, a consumer per edge.
    readers
        The consumers that wait for it if they are on its target.
    targets
        The devices that it may go to: one per tensor, any per edge.
    """

    tensor: int
    receiver: int
    producer: int
    readers: tuple[int, ...]
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

    Parameters
    ----------
    release, delivery
        The least of either, shape (n,); 0 by default.
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


def longest_schedule(graph: PlacementGraph) -> int:
    """Return an upper bound on the makespan: nothing overlaps, on the slowest devices."""
    longest = graph.times.max(axis=(1, 2), initial=0)[graph.size]
    readers = np.array([len(row) for row in graph.consumers], dtype=np.int64)
    return int(graph.duration.max(axis=1).sum() + (longest * readers).sum())


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
    order = graph.dag.topological_order.tolist()[:MOST_OPERATORS]
    return [
        (v, device, tuple(order[:at]), before)
        for known in twin_classes(graph)
        for before, device in itertools.pairwise(known)
        for at, v in enumerate(order)
    ]


def relabelled(instance: PlacementInstance, schedule: PlacementSchedule) -> PlacementSchedule:
    """Exchange twins in a schedule so that `first_uses` holds."""
    graph = instance.graph
    becomes = np.arange(graph.devices)
    in_order = schedule.devices[graph.dag.topological_order].tolist()
    first = {device: in_order.index(device) for device in set(in_order)}
    for known in twin_classes(graph):
        by_use = sorted(known, key=lambda device: (first.get(device, graph.nodes), device))
        becomes[by_use] = known
    rows = schedule.transfers.copy()
    if instance.transfers == PER_TENSOR:
        rows[:, 1] = becomes[rows[:, 1]]
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return PlacementSchedule(becomes[schedule.devices], schedule.starts, frozen(rows))
