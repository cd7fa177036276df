"""What the checker concludes of small random placements, against definitions and enumeration."""

import itertools
import math
import random
from typing import Any

import pytest
from brute_force_placement import instance, optimum
from selection import FEW_SEEDS, first_now

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.instance import Instance, read_instance
from boundmark.bounds.checker.placement.intervals import _is_refuted
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump, Network
from boundmark.problems.placement import PlacementInstance

STEPS = 100_000


def drawn(
    seed: int, most: int = 4, *, memory: bool = False, is_shuffled: bool = False
) -> PlacementInstance:
    """Return up to so many operators on two or three devices, some of them not everywhere.

    Parameters
    ----------
    is_shuffled
        Whether numbers of operators say nothing of their order.
    """
    dice = random.Random(seed)
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
    return instance(
        duration,
        edges,
        times=times,
        memory=needed if memory else None,
        capacity=[room] * devices if memory else None,
        transfers=dice.choice(["per-tensor", "per-edge"]),
    )


def read(sample: PlacementInstance) -> Instance:
    """Return an instance as the checker has it."""
    document = sample.to_json()
    return read_instance({n: v for n, v in document.items() if n not in ("format", "problem")})


def prove(sample: PlacementInstance, kind: str, payload: Any) -> int | None:
    """Return what a payload proves, None if it is rejected."""
    document = {
        "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
        "problem": "placement", "kind": kind, "payload": payload, "producer": "a test",
    }  # fmt: skip
    try:
        return checker.check_certificate(sample.to_json(), document)
    except checker.Rejected:
        return None


Transfer = tuple[int, int, int]


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


def schedule(sample: Instance, dice: random.Random) -> tuple[list[int], list[int], list[Transfer]]:
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


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_schedules_that_are_just_possible(seed: int) -> None:
    """A schedule without pauses is valued as by definition, and so is each with a tick changed."""
    dice = random.Random(seed)
    stored = drawn(seed, 5, memory=seed % 3 == 0)
    sample = read(stored)

    def value(device: list[int], start: list[int], moved: list[Transfer]) -> int | None:
        document: dict[str, Any] = {
            "format": "boundmark-solution/1", "instance_sha256": stored.sha256, "devices": device,
            "problem": "placement", "starts": start, "transfers": [list(row) for row in moved],
            "objective": max(0, makespan(sample, device, start, moved) or 0),
        }  # fmt: skip
        try:
            return checker.check_solution(stored.to_json(), document)
        except checker.Rejected as error:
            reason = str(error)
        assert "is not what it costs" not in reason
        return None

    for _ in range(6):
        device, start, moved = schedule(sample, dice)
        assert value(device, start, moved) == makespan(sample, device, start, moved)
        for v in range(len(start)):
            for change in (-1, 1):
                other = [s + change * (u == v) for u, s in enumerate(start)]
                if min(other) >= 0:
                    assert value(device, other, moved) == makespan(sample, device, other, moved)
            for where in range(len(sample.capacity)):
                others = [where if u == v else d for u, d in enumerate(device)]
                assert value(others, start, moved) == makespan(sample, others, start, moved)
        for number, (tensor, receiver, begin) in enumerate(moved):
            for change in (-1, 1):
                if begin + change >= 0:
                    rows = list(moved)
                    rows[number] = tensor, receiver, begin + change
                    assert value(device, start, rows) == makespan(sample, device, start, rows)
            assert value(device, start, moved[:number] + moved[number + 1 :]) is None
        assert value(device, start, [*moved, (len(sample.consumers), 0, 0)]) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"devices": [0]}, "not one for each operator"),
        ({"starts": [0, 2, 4]}, "not one for each operator"),
        ({"devices": [0, 2]}, "devices of the solution is not an integer from 0 to 1"),
        ({"transfers": {}}, "not a list of triples"),
        ({"transfers": [[0, 1]]}, "not a list of triples"),
        ({"transfers": [3]}, "not a list of triples"),
        ({"transfers": [[0, 1, 1], [0, 1, 2]]}, "not sorted, or repeated"),
        ({"transfers": []}, "is not moved to a device that reads it"),
    ],
)
def test_solutions_that_are_none(change: dict[str, Any], reason: str) -> None:
    """Each is refused with what is wrong."""
    stored = instance([[1, 1], [1, 1]], [(0, 1)])
    document: dict[str, Any] = {
        "format": "boundmark-solution/1", "instance_sha256": stored.sha256, "devices": [0, 1],
        "problem": "placement", "starts": [0, 2], "transfers": [[0, 1, 1]], "objective": 3,
    }  # fmt: skip
    assert checker.check_solution(stored.to_json(), document) == 3
    with pytest.raises(checker.Rejected, match=reason):
        checker.check_solution(stored.to_json(), {**document, **change})


@pytest.mark.parametrize("transfers", ["per-tensor", "per-edge"])
def test_ports_move_one_tensor_at_a_time(transfers: str) -> None:
    """Two tensors leave a device, or reach one, one after another; what takes no time may meet."""
    for edges, device in (([(0, 2), (1, 3)], [0, 0, 1, 1]), ([(0, 2), (1, 3)], [0, 0, 1, 2])):
        stored = instance([[1] * 3] * 4, edges, times=[[0, 2, 2, 2, 0, 2, 2, 2, 0]],
                          transfers=transfers)  # fmt: skip
        keys = [
            (t, device[r] if transfers == "per-tensor" else r) for t, (_, r) in enumerate(edges)
        ]
        for begin, expected in ((3, 6), (2, None)):
            moved = [(*keys[0], 1), (*keys[1], begin)]
            start = [0, 1, 3, 5]
            document: dict[str, Any] = {
                "format": "boundmark-solution/1", "instance_sha256": stored.sha256,
                "devices": device, "problem": "placement", "starts": start,
                "transfers": [list(row) for row in moved], "objective": 6,
            }  # fmt: skip
            assert makespan(read(stored), device, start, moved) == expected
            if expected:
                assert checker.check_solution(stored.to_json(), document) == expected
            else:
                with pytest.raises(checker.Rejected, match="at once"):
                    checker.check_solution(stored.to_json(), document)


def network(seed: int) -> tuple[PlacementInstance, Network, list[Jump]]:
    """Return a network with some jumps that somebody has proven."""
    dice = random.Random(seed)
    stored = drawn(seed, 5, is_shuffled=True)
    found = Network(read(stored))
    nodes, devices = len(found.duration), found.devices
    jumps = []
    possible = sorted(waits(found)) + [(OUTSIDE, v) for v in range(nodes)]
    possible += [(v, OUTSIDE) for v in range(nodes)]
    for first, last in dice.sample(possible, dice.randrange(3)):
        shape = [1 if v == OUTSIDE else devices for v in (first, last)]
        table = [[dice.randrange(9) for _ in range(shape[1])] for _ in range(shape[0])]
        jumps.append(Jump(first, last, table))
        found.add(jumps[-1])
    return stored, found, jumps


def waits(found: Network) -> set[tuple[int, int]]:
    """Return pairs of an operator and one that waits for it, in any number of steps."""
    pairs = {(u, v) for v, inputs in enumerate(found.inputs) for u, _ in inputs}
    while True:
        more = {(u, w) for u, v in pairs for x, w in pairs if v == x} - pairs
        if not more:
            return pairs
        pairs |= more


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_what_lies_between(seed: int) -> None:
    """Operators between two others are those that wait for one and that the other waits for."""
    _, found, _ = network(seed)
    nodes, pairs = range(len(found.duration)), waits(network(seed)[1])
    for first, last in itertools.product(range(-1, len(nodes)), repeat=2):
        before = {v for v in nodes if last == OUTSIDE or (v, last) in pairs}
        behind = {v for v in nodes if first == OUTSIDE or (first, v) in pairs}
        try:
            inside = found.inside(first, last)
        except checker.Rejected:
            assert first != OUTSIDE
            assert last != OUTSIDE
            assert (first, last) not in pairs
        else:
            assert OUTSIDE in (first, last) or (first, last) in pairs
            assert set(inside) == before & behind
            assert all((v, u) not in pairs for u, v in itertools.combinations(inside, 2))
        try:
            between = found.between(first, last)
        except checker.Rejected:
            continue
        assert all((v, u) not in pairs for u, v in itertools.combinations(between, 2))
        if first != OUTSIDE:
            # Each of them waits for the first one, and so does the last one.
            assert set(between) <= behind
            assert last == OUTSIDE or last in behind
            if last != OUTSIDE:
                assert set(between) == before & behind
        else:
            assert set(between) == before


Tables = dict[tuple[int, int], list[list[list[int]]]]


def longest(
    found: Network, tables: Tables, end: tuple[int, int], inner: list[int], v: int, d: int
) -> int:
    """Return the ticks from the first operator, on a device, to the start of another.

    Tables say how long it takes from one operator to the next one, for each of their devices.
    """
    most = 0
    for (u, w), rows in tables.items():
        for table in rows if w == v else ():
            if u == end[0]:
                most = max(most, table[end[1]][d])
            elif u in inner:
                ways = [
                    longest(found, tables, end, inner, u, e) + found.duration[u][e] + row[d]
                    for e, row in enumerate(table)
                ]
                most = max(most, min(ways))
    return most


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_heads_and_tails(seed: int) -> None:
    """Both are the longest ways over tensors and jumps, each operator on its best device."""
    _, found, jumps = network(seed)
    devices, width = range(found.devices), found.devices
    tables: Tables = {}
    for v, inputs in enumerate(found.inputs):
        for u, ticks in inputs:
            rows = [ticks[e * width : (e + 1) * width] for e in devices]
            tables.setdefault((u, v), []).append(rows)
    for jump in jumps:
        tables.setdefault((jump.first, jump.last), []).append(jump.least)
    backwards: Tables = {
        (v, u): [[list(column) for column in zip(*table, strict=True)] for table in several]
        for (u, v), several in tables.items()
    }
    nodes = range(len(found.duration))
    for first, last in [(OUTSIDE, OUTSIDE), *waits(found), *((OUTSIDE, v) for v in nodes)]:
        body = found.inside(first, last)
        for device in devices if first != OUTSIDE else [0]:
            heads, to_last = found.heads(first, device, body, last)
            expected = {
                v: [longest(found, tables, (first, device), body, v, d) for d in devices]
                for v in (*body, *([last] if last != OUTSIDE else []))
            }
            assert heads == {v: expected[v] for v in body}
            if last != OUTSIDE:
                assert to_last == expected[last]
                continue
            ends = {
                v: [h + t for h, t in zip(heads[v], found.duration[v], strict=True)] for v in body
            }
            ways = [
                min(end + row[0] for end, row in zip(ends[j.first], j.least, strict=True))
                for j in jumps
                if j.last == OUTSIDE and j.first in body
            ]
            assert to_last == [max([0, *map(min, ends.values()), *ways])]
        for device in devices if last != OUTSIDE else [0]:
            tails = found.tails(body, last, device)
            for v in body:
                least = [longest(found, backwards, (last, device), body, v, d) for d in devices]
                assert [min(t, NEVER) for t in tails[v]] == [min(t, NEVER) for t in least]


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_loads_refute_what_the_rules_say(seed: int) -> None:
    """Weights of devices refute a threshold as the documentation says, to the tick."""
    dice = random.Random(seed)
    _, found, _ = network(seed)
    body = found.inside(OUTSIDE, OUTSIDE)
    heads, _ = found.heads(OUTSIDE, 0, body, OUTSIDE)
    tails = found.tails(body, OUTSIDE, 0)
    for threshold in range(16):
        for _ in range(4):
            weights = [dice.randrange(4) for _ in range(found.devices)]
            possible = {
                v: [
                    d
                    for d, ticks in enumerate(found.duration[v])
                    if heads[v][d] + ticks + tails[v][d] <= threshold
                ]
                for v in body
            }
            if all(possible.values()):
                demand = sum(
                    min(weights[d] * found.duration[v][d] for d in possible[v]) for v in body
                )
                offered = 0
                for d in range(found.devices):
                    able = [v for v in body if d in possible[v]]
                    if able:
                        head = min(heads[v][d] for v in able)
                        tail = min(tails[v][d] for v in able)
                        offered += weights[d] * (threshold - head - tail)
                expected = demand > offered
            else:
                expected = True
            assert _is_refuted(found, body, heads, tails, threshold, weights) == expected


@pytest.mark.parametrize("seed", first_now(range(80), FEW_SEEDS))
def test_searches_decide(seed: int) -> None:
    """A search of the whole schedule refutes what is below the optimum, and nothing else."""
    sample = drawn(seed)
    best = int(optimum(sample))
    whole = {"first": OUTSIDE, "last": OUTSIDE, "rows": []}
    for threshold in range(max(0, best - 2), best + 2):
        payload = {"intervals": [{**whole, "searches": [[0, 0, threshold, STEPS]]}]}
        expected = best if threshold < best else None
        found = prove(sample, "series/1", payload)
        if threshold == best - 1 or expected is None:
            assert found == expected
        else:
            assert found is not None
            assert threshold < found <= best


def between(sample: PlacementInstance, inner: list[int], ends: dict[int, int]) -> PlacementInstance:
    """Return the operators of an interval with its ends, which take no time, on given devices."""
    graph = sample.graph
    kept = [*inner, *ends]
    place = {v: number for number, v in enumerate(kept)}
    rows = graph.duration.tolist()
    for v, device in ends.items():
        rows[v] = [0 if d == device else -1 for d in range(graph.devices)]
    sizes = {int(u): int(size) for u, size in zip(graph.producer, graph.size, strict=True)}
    edges = [
        (place[int(u)], place[w])
        for u, readers in zip(graph.producer, graph.consumers, strict=True)
        for w in readers
        if int(u) in place and w in place
    ]
    times = graph.times.reshape(len(graph.times), -1).tolist()
    return instance(
        [rows[v] for v in kept],
        edges,
        # Each operator has a size of its own.
        times=[times[sizes.get(v, 0)] for v in kept],
        memory=graph.memory[kept].tolist(),
        capacity=graph.capacity.tolist(),
        transfers=sample.transfers,
    )


@pytest.mark.parametrize("seed", first_now(range(80), FEW_SEEDS))
def test_searches_of_intervals_decide(seed: int) -> None:
    """For any devices of its ends, an interval takes as long as its operators alone would."""
    sample = drawn(seed, 5, memory=seed % 2 == 0, is_shuffled=True)
    found = Network(read(sample))
    devices, nodes = found.devices, range(len(found.duration))
    intervals = sorted(waits(found)) + [(OUTSIDE, v) for v in nodes] + [(v, OUTSIDE) for v in nodes]
    for first, last in intervals:
        inner = found.inside(first, last)
        if len(inner) > 3:
            continue
        for source, target in itertools.product(range(devices), repeat=2):
            ends = {v: d for v, d in ((first, source), (last, target)) if v != OUTSIDE}
            if any(found.duration[v][d] >= NEVER for v, d in ends.items()):
                continue
            row = [source * (first != OUTSIDE), target * (last != OUTSIDE)]
            best = optimum(between(sample, inner, ends))
            for threshold, is_refuted in ((best - 1, True), (best, False)):
                if threshold < 0 or (threshold == math.inf and not is_refuted):
                    continue
                threshold = 99 if threshold == math.inf else int(threshold)
                searches = [[*row, threshold, STEPS]]
                interval = {"first": first, "last": last, "rows": [], "searches": searches}
                whole = {"first": OUTSIDE, "last": OUTSIDE, "rows": [], "searches": []}
                proved = prove(sample, "series/1", {"intervals": [interval, whole]})
                assert (proved is not None) == is_refuted


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


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_weights_prove_nothing_false(seed: int) -> None:
    """Any weights of devices, and any intervals, leave the optimum where it is."""
    sample, dice = drawn(seed, memory=seed % 2 == 1), random.Random(seed)
    best, devices = optimum(sample), sample.graph.devices
    critical = prove(sample, "critical-path/1", {})
    assert critical is not None
    assert critical <= best
    for _ in range(12):
        weights, memory = ([dice.randrange(4) for _ in range(devices)] for _ in range(2))
        payload = {"weights": weights, "memory_weights": memory if dice.random() < 0.5 else []}
        payload["memory_weights"] = payload["memory_weights"] or [0] * devices
        found = prove(sample, "assignment-load/1", payload)
        assert found == weighed(sample, weights, payload["memory_weights"])
        assert found is None or found <= best
        row = [0, 0, dice.randrange(14), *weights]
        whole = {"first": OUTSIDE, "last": OUTSIDE, "rows": [row]}
        for kind, interval in (("interval-load/1", whole), ("series/1", {**whole, "searches": []})):
            found = prove(sample, kind, {"intervals": [interval]})
            assert found is None or found <= best
