"""What the checker concludes of small random placements, against definitions and enumeration."""

import itertools
import math
import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from brute_force_placement import instance, live_peaks, optimum
from checking import cost_or_reason, prove, read
from definitions.placement import STEPS, WHOLE, drawn, makespan, solutions
from selection import each_seed

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.intervals import _is_refuted
from boundmark.bounds.checker.placement.paths import NEVER, OUTSIDE, Jump, Network
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement import PROBLEM, PlacementInstance


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
    solution = {"devices": [0, 1], "starts": [0, 2], "transfers": [[0, 1, 1]]}
    assert cost_or_reason(stored, solution) == 3
    assert reason in str(cost_or_reason(stored, {**solution, **change}))


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
            solution = {"devices": device, "starts": start, "transfers": [*map(list, moved)]}
            assert makespan(read(stored), device, start, moved) == expected
            found = cost_or_reason(stored, solution)
            assert found == expected or (not expected and "at once" in str(found))


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


@each_seed(range(60))
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


@each_seed(range(60))
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


@each_seed(range(60))
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


@each_seed(range(80))
def test_searches_of_intervals_decide(seed: int) -> None:
    """For any devices of its ends, an interval takes as long as its operators alone would."""
    sample = drawn(seed, 5, is_shuffled=True)
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
                whole = {**WHOLE, "searches": []}
                proved = prove(sample, "series/1", {"intervals": [interval, whole]})
                assert (proved is not None) == is_refuted


@each_seed(range(60))
def test_tensors_take_memory_while_they_are_live(seed: int) -> None:
    """A schedule fits to the byte of what devices hold at most, found tick by tick."""
    sample, dice = drawn(seed, is_shuffled=True), random.Random(seed)
    graph = sample.graph
    tensors, results = (
        [dice.randrange(4) for _ in range(number)] for number in (len(graph.consumers), graph.nodes)
    )

    def of(capacity: list[int]) -> PlacementInstance:
        memory: Any = {"tensor_memory": tensors, "result_memory": results, "capacity": capacity}
        return replace(sample, graph=replace(graph, **memory))

    for document, cost in solutions(sample, dice):
        if cost is None:
            continue
        peaks = live_peaks(of([99] * graph.devices), PROBLEM.solution_from_json(document))
        assert cost_or_reason(of([max(peaks)] * graph.devices), document) == cost
        for device, peak in enumerate(peaks):
            if peak:
                short = [99] * device + [peak - 1] + [99] * (graph.devices - device - 1)
                # Some operator may have no room on any device.
                with suppress(InvalidInputError):
                    assert "more than its capacity" in str(cost_or_reason(of(short), document))
