"""The optimum of tiny instances of `placement`: all placements, and all orders of what happens."""

import itertools
import json
import math
from collections.abc import Sequence
from functools import cache

from boundmark.problems.canonical import canonical_json
from boundmark.problems.placement import UNSUPPORTED, PlacementGraph, PlacementInstance


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
        if fits and runs:
            best = least_makespan(sample, devices, best)
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
