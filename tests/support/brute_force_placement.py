"""The optimum of tiny instances of `placement`: all placements, and all orders of what happens."""

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from boundmark.problems.json_documents import canonical_json
from boundmark.problems.placement import (
    UNSUPPORTED,
    PlacementGraph,
    PlacementInstance,
    PlacementSchedule,
)
from boundmark.problems.placement.feasibility import needed_transfers


def instance(
    duration: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int]],
    *,
    times: Sequence[Sequence[int]] = (),
    memory: Sequence[int] | None = None,
    capacity: Sequence[int] | None = None,
    transfers: str = "per-tensor",
) -> PlacementInstance:
    """Return an instance in which each operator with consumers writes one tensor.

    Parameters
    ----------
    times
        A row of D times D ticks per size; the tensor of operator v has the size v modulo their
        number. Without any, all transfers take a tick.
    """
    devices = len(duration[0])
    rows = times or [[int(d != e) for d in range(devices) for e in range(devices)]]
    readers = {u: tuple(sorted({w for v, w in edges if v == u})) for u in range(len(duration))}
    written = [u for u, found in readers.items() if found]
    tables = [[row[d * devices : (d + 1) * devices] for d in range(devices)] for row in rows]
    return PlacementInstance(
        PlacementGraph(
            duration=duration,  # type: ignore[arg-type]
            memory=list(memory or [0] * len(duration)),  # type: ignore[arg-type]
            capacity=list(capacity or [0] * devices),  # type: ignore[arg-type]
            producer=written,  # type: ignore[arg-type]
            consumers=tuple(readers[u] for u in written),
            size=[u % len(rows) for u in written],  # type: ignore[arg-type]
            times=tables,  # type: ignore[arg-type]
            names=tuple(f"v{v}" for v in range(len(duration))),
            device_names=tuple(f"d{d}" for d in range(devices)),
        ),
        transfers,
    )


def live_instance(
    duration: Sequence[Sequence[int]],
    edges: Sequence[tuple[int, int]],
    *,
    tensors: Sequence[int],
    results: Sequence[int],
    **given: Any,
) -> PlacementInstance:
    """Return an instance with memory model `parameters+live`.

    Parameters
    ----------
    tensors
        What the tensor of each operator with consumers takes, in the operators' order.
    results
        What each operator writes and nobody reads.
    """
    sample = instance(duration, edges, **given)
    graph = replace(sample.graph, tensor_memory=list(tensors), result_memory=list(results))  # type: ignore[arg-type]
    return replace(sample, graph=graph)


def live_peaks(sample: PlacementInstance, schedule: PlacementSchedule) -> list[int]:
    """Return the most memory in use on each device, found tick by tick."""
    graph, place = sample.graph, schedule.devices.tolist()
    begin = schedule.starts.tolist()
    end = [b + int(graph.duration[v, place[v]]) for v, b in enumerate(begin)]
    rows = schedule.transfers.tolist()
    most = []
    for device in range(graph.devices):
        held = sum(int(graph.memory[v]) for v in range(graph.nodes) if place[v] == device)
        peak = held
        for now in range(max([*end, *(row[2] for row in rows)]) + 9):
            used = held
            for v in range(graph.nodes):
                if place[v] == device and begin[v] <= now < end[v]:
                    used += int(graph.result_memory[v])
            for tensor, readers in enumerate(graph.consumers):
                writer = int(graph.producer[tensor])
                copies = [(place[writer], begin[writer], [end[writer]])]
                copies[0][2].extend(end[r] for r in readers if place[r] == place[writer])
                for number, receiver, sent in rows:
                    if number != tensor:
                        continue
                    served = (
                        [r for r in readers if place[r] == receiver]
                        if sample.transfers == "per-tensor"
                        else [receiver]
                    )
                    target = place[served[0]]
                    arrival = sent + int(graph.times[graph.size[tensor], place[writer], target])
                    copies[0][2].append(arrival)
                    copies.append((target, sent, [arrival, *(end[r] for r in served)]))
                for where, since, ends in copies:
                    if where == device and since <= now < max(ends):
                        used += int(graph.tensor_memory[tensor])
            peak = max(peak, used)
        most.append(peak)
    return most


def optimum(sample: PlacementInstance) -> float:
    """Return the least makespan, found once; infinite if no placement has room."""
    return _optimum(canonical_json(sample.to_json()))


@cache
def _optimum(document: str) -> float:
    sample = PlacementInstance.from_json(json.loads(document))
    graph = sample.graph
    best = math.inf
    for devices in itertools.product(range(graph.devices), repeat=graph.nodes):
        held = [0] * graph.devices
        for node, device in enumerate(devices):
            held[device] += int(graph.memory[node])
        fits = all(h <= c for h, c in zip(held, graph.capacity.tolist(), strict=True))
        runs = all(graph.duration[v, d] != UNSUPPORTED for v, d in enumerate(devices))
        if fits and runs and graph.is_live:
            best = _least_live_makespan(sample, devices, best)
        elif fits and runs:
            best = least_makespan(sample, devices, best)
    return best


def _least_live_makespan(sample: PlacementInstance, devices: Sequence[int], limit: float) -> float:
    """Return the least makespan of a placement, of all starts at whole ticks.

    Waiting may save memory, so that starting as early as possible is not enough. A schedule in
    which one thing happens at a time, in the order of the starts of any other one, needs no more
    memory than that, so that none has to be longer than all together.
    """
    graph = sample.graph
    place = np.array(devices)
    moves = sorted(needed_transfers(graph, place, sample.transfers).items())
    ticks = [int(graph.duration[v, d]) for v, d in enumerate(devices)]
    sent = [
        int(graph.times[graph.size[t], devices[graph.producer[t]], devices[readers[0]]])
        for (t, _), readers in moves
    ]
    horizon = sum(ticks) + sum(sent)
    # Operators in their order, each followed by the transfers of what it writes.
    steps: list[tuple[int, int]] = []
    for v in graph.dag.topological_order.tolist():
        steps.append((v, -1))
        steps += [(v, m) for m, ((t, _), _) in enumerate(moves) if graph.producer[t] == v]
    begins, sends = [0] * graph.nodes, [0] * len(moves)
    best = limit

    def extend(at: int, busy: dict[tuple[str, int], list[tuple[int, int]]]) -> None:
        nonlocal best
        if at == len(steps):
            end = max(b + t for b, t in zip(begins, ticks, strict=True))
            rows = [[t, r, s] for ((t, r), _), s in zip(moves, sends, strict=True)]
            found = PlacementSchedule(
                place, np.array(begins), np.array(rows, np.int64).reshape(-1, 3)
            )
            peak = live_peaks(sample, found)
            if end < best and all(p <= c for p, c in zip(peak, graph.capacity, strict=True)):
                best = end
            return
        v, move = steps[at]
        if move < 0:
            length, uses = ticks[v], [("run", devices[v])]
            ready = 0
            for tensor, readers in enumerate(graph.consumers):
                u = int(graph.producer[tensor])
                if v in readers and devices[u] == devices[v]:
                    ready = max(ready, begins[u] + ticks[u])
            for m, (_, readers) in enumerate(moves):
                if v in readers:
                    ready = max(ready, sends[m] + sent[m])
        else:
            length, readers = sent[move], moves[move][1]
            uses = [("send", devices[v]), ("receive", devices[readers[0]])]
            ready = begins[v] + ticks[v]
        for start in range(ready, min(horizon, best if best < math.inf else horizon) - length + 1):
            span = (start, start + length)
            clash = length and any(
                start < y and x < start + length for use in uses for x, y in busy.get(use, [])
            )
            if clash:
                continue
            if move < 0:
                begins[v] = start
            else:
                sends[move] = start
            taken = {use: [*busy.get(use, []), span] for use in uses} if length else {}
            extend(at + 1, {**busy, **taken})

    extend(0, {})
    return best


def least_makespan(
    sample: PlacementInstance, devices: Sequence[int], limit: float = math.inf
) -> float:
    """Return the least makespan of a placement, or the limit if that is less.

    Operators and transfers are items with what they wait for and the resources that they occupy.
    Each starts as early as it can after those before it in an order; some order is optimal.
    """
    graph = sample.graph
    items: list[tuple[int, set[int], tuple[str, ...]]] = []
    waits: list[set[int]] = [set() for _ in range(graph.nodes)]
    moved: dict[tuple[int, int], int] = {}
    transfers: list[tuple[int, set[int], tuple[str, ...]]] = []
    for tensor, readers in enumerate(graph.consumers):
        producer = int(graph.producer[tensor])
        for reader in readers:
            source, target = devices[producer], devices[reader]
            if source == target:
                waits[reader].add(producer)
                continue
            key = tensor, target if sample.transfers == "per-tensor" else reader
            if key not in moved:
                moved[key] = graph.nodes + len(transfers)
                ticks = int(graph.times[graph.size[tensor], source, target])
                transfers.append((ticks, {producer}, (f"send {source}", f"receive {target}")))
            waits[reader].add(moved[key])
    for node, device in enumerate(devices):
        items.append((int(graph.duration[node, device]), waits[node], (f"run {device}",)))
    return _best_order([*items, *transfers], {}, {}, limit)


def _best_order(
    items: Sequence[tuple[int, set[int], tuple[str, ...]]],
    ends: dict[int, int],
    free: dict[str, int],
    limit: float,
) -> float:
    if len(ends) == len(items):
        return min(limit, max(ends.values()))
    possible = [i for i, item in enumerate(items) if i not in ends and item[1] <= ends.keys()]
    # What takes no time is in nobody's way, so it may come first.
    idle = [i for i in possible if items[i][0] == 0]
    for i in idle[:1] or possible:
        ticks, waited, uses = items[i]
        start = max((ends[j] for j in waited), default=0)
        if ticks:
            start = max([start, *(free.get(use, 0) for use in uses)])
        if start + ticks < limit:
            occupied = dict.fromkeys(uses, start + ticks) if ticks else {}
            limit = _best_order(items, {**ends, i: start + ticks}, {**free, **occupied}, limit)
    return limit
