"""Small layouts of `microbatch`: any short schedules, loads, pairs in memory, and phases."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from random import Random

from brute_force_microbatch import BlockText, layout, optimum, steady_states
from checking import Claims, Solutions, read

from boundmark.bounds.checker.microbatch.instance import Instance
from boundmark.bounds.checker.microbatch.paths import Paths
from boundmark.problems.microbatch import MicrobatchInstance

Pair = tuple[int, int, int]


def drawn(seed: int, micro_batches: int | None = None) -> MicrobatchInstance:
    """Return up to five blocks on one or two devices, some of which hold memory for others."""
    dice = Random(seed)
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
    return MicrobatchInstance.of(shape, memory=memory, micro_batches=count)


def solutions(sample: MicrobatchInstance, dice: Random) -> Solutions:
    """Yield start times, each block as soon as it may or about then; or what repeats for ever."""
    if not sample.micro_batches:
        yield from repeated(sample, dice)
        return
    blocks, needs = sample.layout.blocks, sample.layout.dag.edge_pairs().tolist()
    for _ in range(60):
        starts = [[0] * sample.nodes for _ in range(sample.micro_batches)]
        free = [0] * sample.layout.devices
        for row in starts:
            for v in sample.layout.dag.topological_order.tolist():
                ready = max([0, *(row[u] + blocks[u].duration for u, w in needs if w == v)])
                row[v] = max(ready, *(free[d] for d in blocks[v].devices))
                row[v] = max(0, row[v] + dice.choice([0, 0, 0, 0, 0, -1, 1]))
                for d in blocks[v].devices:
                    free[d] = row[v] + blocks[v].duration
        end = max(
            start + b.duration for row in starts for start, b in zip(row, blocks, strict=True)
        )
        is_broken = broken_constraint(sample, starts)
        yield {"starts": starts, "repetend": None}, None if is_broken else end


def repeated(sample: MicrobatchInstance, dice: Random) -> Solutions:
    """Yield steady states that are cut off at both ends, and all that with something earlier."""
    period = max(sample.layout.loads) + dice.choice([0, 0, 0, 1, 2])
    for sigma in itertools.islice(steady_states(sample, period), 0, 40, 7):
        stages = [start // period for start in sigma]
        count = max(stages) + 1 + dice.choice([0, 0, 1])
        for change in ("", "start", "block", "later", "period", "member", "start", "later"):
            now, members = period, [max(stages) - stage for stage in stages]
            starts = [[start + number * period for start in sigma] for number in range(count)]
            row, block = dice.randrange(count), dice.randrange(len(sigma))
            if change == "period":
                now -= 1
            elif change == "member":
                members[block] += dice.choice([-1, 1])
            elif change == "start":
                starts[row][block] = max(0, starts[row][block] - dice.randint(1, 3))
            elif change == "block":
                for one in starts:
                    one[block] = max(0, one[block] - 1)
            elif change == "later":
                moment = starts[row][block]
                starts = [[max(0, s - (s >= moment)) for s in one] for one in starts]
            repetend = {"period": now, "members": members}
            is_one = now and 0 <= min(members) <= max(members) < count
            is_one = is_one and not any(
                broken_constraint(sample, g) for g in grown(starts, now, members)
            )
            yield {"starts": starts, "repetend": repetend}, now if is_one else None


def grown(starts: list[list[int]], period: int, members: list[int]) -> Iterator[list[list[int]]]:
    """Yield the starts for all numbers of micro-batches that matter, and many more.

    One micro-batch more is one repetition more: what comes after the repetend's members is a
    period later, and about the micro-batch after.
    """
    yield starts
    least = len(starts)
    for count in range(least + 1, least + 2 * (max(map(max, starts)) // period + 8)):
        before = starts
        starts = [
            [
                before[number][block]
                if number <= member
                else before[number - 1][block] + period
                for block, member in enumerate(members)
            ]
            for number in range(count)
        ]  # fmt: skip
        yield starts


def broken_constraint(instance: MicrobatchInstance, starts: list[list[int]]) -> str:
    """Return which constraint some micro-batches break, tick by tick; empty if none."""
    blocks, dag = instance.layout.blocks, instance.layout.dag
    for row in starts:
        for u, v in dag.edge_pairs().tolist():
            if row[u] + blocks[u].duration > row[v]:
                return "a block does not wait"
    for device, capacity in enumerate(instance.capacity):
        busy: set[int] = set()
        changes: Counter[int] = Counter()
        for row, (block, what) in itertools.product(starts, enumerate(blocks)):
            if device not in what.devices:
                continue
            ticks = range(row[block], row[block] + what.duration)
            if row[block] < 0 or not busy.isdisjoint(ticks):
                return "two blocks at once"
            busy.update(ticks)
            changes[row[block]] += what.memory
        if any(
            held > capacity for held in itertools.accumulate(changes[at] for at in sorted(changes))
        ):
            return "too much memory"
    return ""


def claims(sample: MicrobatchInstance, dice: Random) -> Claims:
    """Yield blocks of a device, pairs of allocations and releases, and trees over all phases."""
    graph = read(sample)
    paths, count = Paths(graph), graph.micro_batches
    head, tail = paths.heads(), paths.tails()
    pairs = [releases(graph, device, dice) for device in range(len(graph.capacity))]
    for device, capacity in enumerate(graph.capacity):
        there = [b for b, devices in enumerate(graph.device_sets) if device in devices]
        for size in range(1, len(there) + 1):
            for blocks in itertools.combinations(there, size):
                work = sum(graph.duration[b] for b in blocks)
                if count:
                    work = count * work + min(map(head.__getitem__, blocks))
                    work += min(map(tail.__getitem__, blocks))
                yield (
                    "device-load/1",
                    {"device": device, "blocks": dice.sample(blocks, size)},
                    [work],
                )
        own = pairs[device]
        if not own:
            continue
        held = sum(
            amount * ((longest(graph, first, last) or 0) + graph.duration[last])
            for first, last, amount in own
        )
        changing = [b for b, c in enumerate(graph.memory) if c and device in graph.device_sets[b]]
        room = capacity - capacity % math.gcd(*(graph.memory[b] for b in changing))
        expected = math.ceil(max(1, count) * held / room)
        if count:
            expected += min(head[b] for b in changing) + min(tail[b] for b in changing)
        yield "memory-latency/1", {"device": device, "pairs": [*map(list, own)]}, [expected]
        for number, (first, last, amount) in enumerate(own):
            others = [list(pair) for at, pair in enumerate(own) if at != number]
            changes = [[], [[last, first, amount]], [[first, last, amount + 1]]]
            changes += [[[first, last, amount - 1]]] if amount > 1 else []
            for change in changes:
                payload = {"device": device, "pairs": [*others, *change]}
                yield "memory-latency/1", payload, [None]
    yield from trees(sample, [own or [] for own in pairs], dice)


def trees(sample: MicrobatchInstance, pairs: list[list[Pair]], dice: Random) -> Claims:
    """Yield trees in some order: a period is refuted exactly if no phases of all blocks remain."""
    graph = read(sample)
    blocks = range(len(graph.duration))
    payload = {"order": dice.sample(blocks, len(blocks)), "pairs": [[*map(list, p)] for p in pairs]}
    if graph.micro_batches:
        # A makespan is not what repeats.
        yield "modulo-tree/1", {**payload, "bound": 1}, [None]
        return
    loads = [
        sum(graph.duration[b] for b in blocks if device in graph.device_sets[b])
        for device in range(len(graph.capacity))
    ]
    refuted = True
    for bound in range(1, min(optimum(sample), 8) + 2):
        yield (
            "modulo-tree/1",
            {**payload, "bound": bound},
            [max(bound, *loads) if refuted else None],
        )
        if bound >= max(loads):
            phases = itertools.product(range(bound), repeat=len(blocks))
            refuted &= not any(remains(graph, pairs, list(chosen), bound) for chosen in phases)


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


def releases(graph: Instance, device: int, dice: Random) -> list[Pair] | None:
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


def remains(graph: Instance, pairs: list[list[Pair]], phases: list[int], period: int) -> bool:
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
    graph: Instance, pairs: list[list[Pair]], phases: list[int], period: int
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
        spent = sum(n * (lags[first, last] + graph.duration[last]) for first, last, n in own)
        if spent > capacity * period:
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
