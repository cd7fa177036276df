"""Small instances of `placement`: schedules without pauses, their neighbours, searches, weights."""

import itertools
import math
from random import Random

from brute_force_placement import instance, optimum
from checking import Claims, Document, Solutions, read

from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.paths import OUTSIDE
from boundmark.problems.placement import PlacementInstance

STEPS = 100_000
WHOLE = {"first": OUTSIDE, "last": OUTSIDE, "rows": []}


def drawn(seed: int, most: int = 4, *, is_shuffled: bool = False) -> PlacementInstance:
    """Return up to so many operators on two or three devices, some of them not everywhere.

    Parameters
    ----------
    is_shuffled
        Whether numbers of operators say nothing of their order.
    """
    dice = Random(seed)
    nodes, devices = dice.randrange(2, most + 1), dice.choice([2, 2, 2, 3])
    pairs = list(itertools.combinations(range(nodes), 2))
    edges = sorted(dice.sample(pairs, dice.randrange(len(pairs) + 1)))
    if is_shuffled:
        numbers = dice.sample(range(nodes), nodes)
        edges = sorted((numbers[u], numbers[v]) for u, v in edges)
    duration = [
        [dice.choice([0, 1, 2, 3, 5, -1]) for _ in range(devices - 1)] for _ in range(nodes)
    ]
    for row in duration:
        row.insert(dice.randrange(devices), dice.randrange(1, 6))
    times = [
        [0 if d == e else dice.randrange(4) for d in range(devices) for e in range(devices)]
        for _ in range(2)
    ]
    needed = [dice.randrange(3) for _ in range(nodes)]
    room = max(2, -(-sum(needed) // devices)) + dice.choice([0, 0, 1])
    has_memory = seed % 2 == 1
    return instance(
        duration,
        edges,
        times=times,
        memory=needed if has_memory else None,
        capacity=[room] * devices if has_memory else None,
        transfers=dice.choice(["per-tensor", "per-edge"]),
    )


Transfer = tuple[int, int, int]


def solutions(sample: PlacementInstance, dice: Random) -> Solutions:
    """Yield schedules without pauses, and each with a device, a tick or a transfer changed."""
    found = read(sample)
    for _ in range(6):
        device, start, moved = schedule(found, dice)
        tried = [(device, start, moved), (device, start, [*moved, (len(found.consumers), 0, 0)])]
        for v, began in enumerate(start):
            others = [[*start[:v], tick, *start[v + 1 :]] for tick in (began - 1, began + 1)]
            tried += [(device, other, moved) for other in others]
            places = range(len(found.capacity))
            tried += [([*device[:v], d, *device[v + 1 :]], start, moved) for d in places]
        for at, (tensor, receiver, began) in enumerate(moved):
            tried.append((device, start, moved[:at] + moved[at + 1 :]))
            for tick in (began - 1, began + 1):
                other = [*moved[:at], (tensor, receiver, tick), *moved[at + 1 :]]
                tried.append((device, start, other))
        for one in tried:
            devices, starts, transfers = one
            document: Document = {"devices": devices, "starts": starts}
            document["transfers"] = [list(row) for row in transfers]
            is_late = min([*starts, *(row[2] for row in transfers)]) >= 0
            yield document, makespan(found, *one) if is_late else None


def claims(sample: PlacementInstance, dice: Random) -> Claims:
    """Yield searches of the whole schedule around the optimum, and any weights of devices."""
    best, devices = optimum(sample), sample.graph.devices
    yield "critical-path/1", {}, range(10**6)
    if best < math.inf:
        best = int(best)
        for threshold in range(max(0, best - 2), best + 2):
            payload = {"intervals": [{**WHOLE, "searches": [[0, 0, threshold, STEPS]]}]}
            possible = range(threshold + 1, best + 1) if threshold < best else [None]
            yield "series/1", payload, possible
    for _ in range(12):
        work, memory = ([dice.randrange(4) for _ in range(devices)] for _ in range(2))
        memory = memory if dice.random() < 0.5 else [0] * devices
        payload = {"weights": work, "memory_weights": memory}
        yield "assignment-load/1", payload, [weighed(sample, work, memory)]
        whole = {**WHOLE, "rows": [[0, 0, dice.randrange(14), *work]]}
        yield "interval-load/1", {"intervals": [whole]}, ...
        yield "series/1", {"intervals": [{**whole, "searches": []}]}, ...


def makespan(
    sample: Instance, device: list[int], start: list[int], moved: list[Transfer]
) -> int | None:
    """Return when the last operator ends, None if a constraint is broken, tick by tick."""
    nodes, devices = len(start), len(sample.capacity)
    held = [0] * devices
    uses: dict[tuple[str, int], list[int]] = {}

    def occupy(what: str, where: int, begin: int, ticks: int) -> None:
        uses.setdefault((what, where), []).extend(range(begin, begin + ticks))

    for v in range(nodes):
        if sample.duration[v][device[v]] < 0:
            return None
        held[device[v]] += sample.memory[v]
        occupy("run", device[v], start[v], sample.duration[v][device[v]])
    if any(h > c for h, c in zip(held, sample.capacity, strict=True)):
        return None
    begins = {(tensor, receiver): begin for tensor, receiver, begin in moved}
    needed = set()
    for tensor, readers in enumerate(sample.consumers):
        producer = sample.producer[tensor]
        done = start[producer] + sample.duration[producer][device[producer]]
        for reader in readers:
            if device[reader] == device[producer]:
                if start[reader] < done:
                    return None
                continue
            key = tensor, device[reader] if sample.transfers == "per-tensor" else reader
            if key not in begins or begins[key] < done:
                return None
            ticks = sample.ticks(tensor, device[producer], device[reader])
            if start[reader] < begins[key] + ticks:
                return None
            if key not in needed:
                needed.add(key)
                occupy("send", device[producer], begins[key], ticks)
                occupy("receive", device[reader], begins[key], ticks)
    if needed != set(begins) or any(len(set(row)) < len(row) for row in uses.values()):
        return None
    return max(start[v] + sample.duration[v][device[v]] for v in range(nodes))


def schedule(sample: Instance, dice: Random) -> tuple[list[int], list[int], list[Transfer]]:
    """Return a schedule that leaves no time unused, whatever the devices may hold."""
    nodes = len(sample.memory)
    device = [
        dice.choice([d for d, ticks in enumerate(row) if ticks >= 0]) for row in sample.duration
    ]
    start, moved = [0] * nodes, {}
    free: dict[tuple[str, int], int] = {}
    for v in range(nodes):
        ready = 0
        for tensor, readers in enumerate(sample.consumers):
            if v not in readers:
                continue
            u = sample.producer[tensor]
            done = start[u] + sample.duration[u][device[u]]
            if device[u] != device[v]:
                key = tensor, device[v] if sample.transfers == "per-tensor" else v
                ticks = sample.ticks(tensor, device[u], device[v])
                if key not in moved:
                    ports = ("send", device[u]), ("receive", device[v])
                    moved[key] = max([done, *(free.get(p, 0) for p in ports)] if ticks else [done])
                    for port in ports if ticks else ():
                        free[port] = moved[key] + ticks
                done = moved[key] + ticks
            ready = max(ready, done)
        ticks = sample.duration[v][device[v]]
        start[v] = max(ready, free.get(("run", device[v]), 0)) if ticks else ready
        if ticks:
            free["run", device[v]] = start[v] + ticks
    return device, start, sorted((t, r, begin) for (t, r), begin in moved.items())


def weighed(sample: PlacementInstance, work: list[int], memory: list[int]) -> int | None:
    """Return what weights of work and memory prove by the documentation."""
    graph = sample.graph
    least = sum(
        min(
            work[d] * ticks + memory[d] * int(graph.memory[v])
            for d, ticks in enumerate(graph.duration[v].tolist())
            if graph.fits[v, d]
        )
        for v in range(graph.nodes)
    )
    least -= sum(m * c for m, c in zip(memory, graph.capacity.tolist(), strict=True))
    return max(0, math.ceil(least / sum(work))) if any(work) else None
