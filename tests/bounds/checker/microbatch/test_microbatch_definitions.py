"""What the checker concludes of small random layouts, against definitions and enumeration."""

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from brute_force_microbatch import BlockText, layout, optimum
from selection import FEW_SEEDS, first_now

from boundmark.bounds import checker
from boundmark.bounds.checker.microbatch.instance import Instance
from boundmark.bounds.checker.microbatch.one_device import read_pairs
from boundmark.bounds.checker.microbatch.paths import Paths
from boundmark.bounds.checker.microbatch.phases import PhaseTree
from boundmark.problems.microbatch import MicrobatchInstance

Pair = tuple[int, int, int]


def drawn(seed: int, micro_batches: int | None = None) -> tuple[MicrobatchInstance, random.Random]:
    """Return up to five blocks on one or two devices, some of which hold memory for others."""
    dice = random.Random(seed)
    devices, held = dice.choice([1, 2, 2]), dice.choice([0, 1, 1, 2])
    where: list[tuple[int, ...]] = [(0,)] if devices == 1 else [(0,), (1,), (0, 1)]
    blocks: list[BlockText] = []
    edges: set[tuple[int, int]] = set()
    for number in range(held):
        amount, place = dice.randrange(1, 4), dice.choice(where)
        edges.add((len(blocks), len(blocks) + 1))
        blocks.append((f"F{number}", dice.randrange(1, 4), amount, place))
        blocks.append((f"B{number}", dice.randrange(1, 4), -amount, place))
    plain = dice.randrange(0 if held else 1, 4 - held)
    blocks += [(f"S{v}", dice.randrange(1, 3), 0, dice.choice(where)) for v in range(plain)]
    order = dice.sample(range(len(blocks)), len(blocks))
    for u, v in edges:
        if order.index(u) > order.index(v):
            i, j = order.index(u), order.index(v)
            order[i], order[j] = order[j], order[i]
    edges |= {pair for pair in itertools.combinations(order, 2) if dice.random() < 0.35}
    if any(order.index(u) > order.index(v) for u, v in edges):
        return drawn(seed + 1000, micro_batches)
    shape = layout(blocks, sorted(edges), devices)
    least = max(sum(max(0, b.memory) for b in shape.blocks if d in b.devices) for d in (0, 1))
    count = dice.choice([0, 1, 2, 3]) if micro_batches is None else micro_batches
    memory = max(1, least + dice.choice([0, 0, 1, 2]))
    return MicrobatchInstance.of(shape, memory=memory, micro_batches=count), dice


def read(sample: MicrobatchInstance) -> Instance:
    """Return an instance as the checker has it."""
    found: Instance = checker.check_instance(sample.to_json())
    return found


def prove(sample: MicrobatchInstance, kind: str, payload: Any) -> int | None:
    """Return what a payload proves, None if it is rejected."""
    document = {
        "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": 0,
        "problem": "microbatch", "kind": kind, "payload": payload, "producer": "a test",
    }  # fmt: skip
    try:
        return checker.check_certificate(sample.to_json(), document)
    except checker.Rejected:
        return None


def walks(graph: Instance, first: int) -> Iterator[list[int]]:
    """Yield all paths that begin at a block, the one that ends there too."""
    yield [first]
    for u, v in graph.edges:
        if u == first:
            for rest in walks(graph, v):
                yield [first, *rest]


def longest(graph: Instance, first: int, last: int) -> int | None:
    """Return the ticks from the start of a block to that of another along edges, if there are."""
    lengths = [
        sum(graph.duration[v] for v in walk[:-1])
        for walk in walks(graph, first)
        if walk[-1] == last
    ]
    return max(lengths, default=None)


def releases(graph: Instance, device: int, dice: random.Random) -> list[Pair] | None:
    """Return pairs of allocations and releases of a device, None if some do not wait."""
    left = {
        block: change
        for block, change in enumerate(graph.memory)
        if change and device in graph.device_sets[block]
    }
    found = []
    while any(left.values()):
        possible = [
            (first, last)
            for first, last in itertools.permutations(left, 2)
            if left[first] > 0 > left[last] and longest(graph, first, last) is not None
        ]
        if not possible:
            return None
        first, last = dice.choice(possible)
        amount = dice.randint(1, min(left[first], -left[last]))
        left[first] -= amount
        left[last] += amount
        found.append((first, last, amount))
    return found


@pytest.mark.parametrize("seed", first_now(range(60), FEW_SEEDS))
def test_longest_paths(seed: int) -> None:
    """Heads, tails and times between blocks are those of the longest paths."""
    sample, _ = drawn(seed)
    graph = read(sample)
    blocks, paths = range(len(graph.duration)), Paths(graph)
    between = [[longest(graph, u, v) for v in blocks] for u in blocks]
    assert paths.heads() == [max(row[v] or 0 for row in between) for v in blocks]
    assert paths.tails() == [
        max((path or 0) + graph.duration[v] for v, path in enumerate(row) if path is not None)
        - graph.duration[u]
        for u, row in enumerate(between)
    ]
    assert [paths.from_block(u) for u in blocks] == between


@pytest.mark.parametrize("seed", first_now(range(80), FEW_SEEDS))
def test_loads_prove_what_the_rules_say(seed: int) -> None:
    """Some blocks of a device, once a period, or N times after a head and before a tail."""
    sample, dice = drawn(seed)
    graph = read(sample)
    best = optimum(sample)
    paths = Paths(graph)
    head, tail = paths.heads(), paths.tails()
    for device in range(len(graph.capacity)):
        there = [b for b, devices in enumerate(graph.device_sets) if device in devices]
        for size in range(1, len(there) + 1):
            for blocks in itertools.combinations(there, size):
                work = sum(graph.duration[b] for b in blocks)
                if graph.micro_batches:
                    work *= graph.micro_batches
                    work += min(head[b] for b in blocks) + min(tail[b] for b in blocks)
                payload = {"device": device, "blocks": dice.sample(blocks, size)}
                assert prove(sample, "device-load/1", payload) == work <= best


@pytest.mark.parametrize("seed", first_now(range(160), FEW_SEEDS))
def test_memory_proves_what_the_rules_say(seed: int) -> None:
    """What a device holds, and how long, needs so much of its capacity times the time."""
    sample, dice = drawn(seed)
    graph = read(sample)
    best = optimum(sample)
    paths = Paths(graph)
    head, tail = paths.heads(), paths.tails()
    for device, capacity in enumerate(graph.capacity):
        pairs = releases(graph, device, dice)
        if not pairs:
            continue
        paths_between = [longest(graph, first, last) or 0 for first, last, _ in pairs]
        held = sum(
            amount * (path + graph.duration[last])
            for (_, last, amount), path in zip(pairs, paths_between, strict=True)
        )
        changing = [b for b, c in enumerate(graph.memory) if c and device in graph.device_sets[b]]
        unit = math.gcd(*(graph.memory[b] for b in changing))
        room = capacity - capacity % unit
        expected = math.ceil(held / room)
        if graph.micro_batches:
            expected = math.ceil(graph.micro_batches * held / room)
            expected += min(head[b] for b in changing) + min(tail[b] for b in changing)
        payload = {"device": device, "pairs": [list(pair) for pair in pairs]}
        assert prove(sample, "memory-latency/1", payload) == expected <= best
        found = read_pairs(graph, paths, device, payload["pairs"])
        assert sorted(found) == sorted(
            (*pair, path) for pair, path in zip(pairs, paths_between, strict=True)
        )
        for number, (first, last, amount) in enumerate(pairs):
            others = [list(pair) for at, pair in enumerate(pairs) if at != number]
            changes = [[], [[last, first, amount]], [[first, last, amount + 1]]]
            changes += [[[first, last, amount - 1]]] if amount > 1 else []
            for change in changes:
                payload = {"device": device, "pairs": [*others, *change]}
                assert prove(sample, "memory-latency/1", payload) is None


def remains(graph: Instance, pairs: list[list[Pair]], phases: dict[int, int], period: int) -> bool:
    """Whether phases of all blocks overlap nowhere, and what devices hold at least fits."""
    for device in range(len(graph.capacity)):
        ticks = [
            (phases[b] + tick) % period
            for b, devices in enumerate(graph.device_sets)
            if device in devices
            for tick in range(graph.duration[b])
        ]
        if len(set(ticks)) < len(ticks):
            return False

    return not holds_too_much(graph, pairs, phases, period)


def holds_too_much(
    graph: Instance, pairs: list[list[Pair]], phases: dict[int, int], period: int
) -> bool:
    """Whether a device exceeds its capacity at some moment, or on average."""

    def later(u: int, v: int) -> int:
        """Return the least ticks from the start of u to one of v that does not come too early."""
        least = graph.duration[u]
        return least + (phases[v] - phases[u] - least) % period

    for capacity, own in zip(graph.capacity, pairs, strict=True):
        lags = {}
        for first, last, _ in own:
            ways = [walk for walk in walks(graph, first) if walk[-1] == last]
            lags[first, last] = max(
                sum(later(u, v) for u, v in itertools.pairwise(walk)) for walk in ways
            )
        if (
            own
            and sum(
                amount * (lags[first, last] + graph.duration[last]) for first, last, amount in own
            )
            > capacity * period
        ):
            return True
        for moment in {phases[first] for first, _, _ in own}:
            held = 0
            for first, last, amount in own:
                # Micro-batches that begin at phases[first] + m P and have not ended at `moment`.
                begins = [phases[first] + m * period for m in range(-lags[first, last] - 2, 2)]
                held += amount * sum(
                    begin <= moment < begin + lags[first, last] for begin in begins
                )
            if held > capacity:
                return True
    return False


@pytest.mark.parametrize("seed", first_now(range(150), FEW_SEEDS))
def test_phases_decide_what_devices_hold(seed: int) -> None:
    """With all phases given, memory is exceeded or not as by definition, at any capacity."""
    sample, dice = drawn(seed, 0)
    graph = read(sample)
    pairs = [releases(graph, device, dice) or [] for device in range(len(graph.capacity))]
    blocks = range(len(graph.duration))
    for _ in range(30):
        period = dice.randrange(1, 9)
        phases = {block: dice.randrange(period) for block in blocks}
        capacity = [dice.randrange(1, 12) for _ in graph.capacity]
        other = graph._replace(capacity=capacity)
        tree = PhaseTree(other, list(blocks), pairs)
        assert tree._is_impossible(phases, period) == holds_too_much(other, pairs, phases, period)
        # With some of them only, nothing is refuted that the others would make possible.
        some = {block: phases[block] for block in blocks if dice.random() < 0.6}
        if tree._is_impossible(some, period):
            assert holds_too_much(other, pairs, phases, period)


# In the last ones, a block that was moved must leave its device free.
@pytest.mark.parametrize("seed", [*range(120), 186, 308, 679, 2062, 2345])
def test_trees_decide_on_phases(seed: int) -> None:
    """A period is refuted exactly if no phases of all blocks remain, in any order of these."""
    sample, dice = drawn(seed, 0)
    graph = read(sample)
    pairs = [releases(graph, device, dice) or [] for device in range(len(graph.capacity))]
    blocks = range(len(graph.duration))
    order = dice.sample(blocks, len(blocks))
    loads = [
        sum(graph.duration[b] for b in blocks if device in graph.device_sets[b])
        for device in range(len(graph.capacity))
    ]
    best = optimum(sample)
    refuted = []
    for period in range(max(loads), min(best, 8) + 1):
        is_possible = any(
            remains(graph, pairs, dict(zip(blocks, phases, strict=True)), period)
            for phases in itertools.product(range(period), repeat=len(graph.duration))
        )
        tree = PhaseTree(graph, order, pairs)
        assert tree.load == max(loads)
        assert tree.refutes(period) != is_possible
        assert is_possible or period < best
        refuted.append(not is_possible)
    lists = [[list(pair) for pair in some] for some in pairs]
    for bound in range(1, max(loads) + len(refuted) + 1):
        payload = {"bound": bound, "order": order, "pairs": lists}
        is_shown = all(refuted[: max(0, bound - max(loads))])
        expected = max(bound, *loads) if is_shown else None
        assert prove(sample, "modulo-tree/1", payload) == expected


def test_a_search_that_is_stopped_refutes_nothing() -> None:
    """Not even a period that it would refute."""
    shape = layout([("F", 1, 0, (0,)), ("S", 2, 0, (0,))], [(0, 1)], 1)
    graph = read(MicrobatchInstance.of(shape, memory=1, micro_batches=0))
    assert PhaseTree(graph, [0, 1], [[]]).refutes(2)
    assert not PhaseTree(graph, [0, 1], [[]]).refutes(2, is_stopped=lambda: True)


def test_trees_are_about_periods() -> None:
    """A makespan is not what repeats."""
    for micro_batches, expected in ((0, 3), (2, None)):
        shape = layout([("F", 1, 0, (0,)), ("S", 2, 0, (0,))], [(0, 1)], 1)
        sample = MicrobatchInstance.of(shape, memory=1, micro_batches=micro_batches)
        payload = {"bound": 1, "order": [0, 1], "pairs": [[]]}
        assert prove(sample, "modulo-tree/1", payload) == expected
