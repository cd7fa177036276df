"""Oracles for tiny instances of `microbatch`, written from the definitions alone."""

import itertools
import json
from collections.abc import Iterator, Sequence
from functools import cache

from hypothesis import strategies as st

from boundmark.problems.json_documents import canonical_json
from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance
from boundmark.problems.microbatch.layout import Kind

# Name, duration, change of memory, devices.
BlockText = tuple[str, int, int, tuple[int, ...]]


def layout(
    blocks: Sequence[BlockText], edges: Sequence[tuple[int, int]], devices: int
) -> BlockLayout:
    """Build a layout from tuples; names begin with B for backward, with W for weight."""
    kinds: dict[str, Kind] = {"B": "backward", "W": "weight"}
    return BlockLayout.from_blocks(
        [
            Block(name, kinds.get(name[0], "forward"), duration, memory, where)
            for name, duration, memory, where in blocks
        ],
        edges,
        devices,
    )


def v_shape(backward: int = 2) -> BlockLayout:
    """Two devices, forward down and backward up."""
    blocks: list[BlockText] = [
        ("F0", 1, 1, (0,)),
        ("F1", 1, 1, (1,)),
        ("B1", backward, -1, (1,)),
        ("B0", backward, -1, (0,)),
    ]
    return layout(blocks, [(0, 1), (1, 2), (2, 3), (0, 3)], 2)


@st.composite
def layouts(draw: st.DrawFn) -> BlockLayout:
    """Draw up to 5 blocks on up to 2 devices; what a block allocates, a later one releases.

    Blocks may occupy both devices or take equally long, and parts may be independent of each other.
    """
    devices = draw(st.integers(1, 2))
    pairs = draw(st.integers(0, 2))
    plain = draw(st.integers(0 if pairs else 1, 3 if pairs == 0 else 5 - 2 * pairs))
    where = st.sampled_from(((0,),) if devices == 1 else ((0,), (1,), (0, 1)))
    duration = draw(st.sampled_from([st.integers(1, 3), st.just(1), st.just(2)]))
    blocks: list[BlockText] = []
    edges = []
    for number in range(pairs):
        amount, place = draw(st.integers(1, 2)), draw(where)
        edges.append((len(blocks), len(blocks) + 1))
        blocks.append((f"F{number}", draw(duration), amount, place))
        blocks.append((f"B{number}", draw(duration), -amount, place))
    blocks += [(f"S{number}", draw(duration), 0, draw(where)) for number in range(plain)]
    order = draw(st.permutations(range(len(blocks))))
    rank = {block: position for position, block in enumerate(order)}
    edges = [(u, v) if rank[u] < rank[v] else (v, u) for u, v in edges]
    for u, v in edges:
        if blocks[u][2] < 0:
            blocks[u], blocks[v] = blocks[v], blocks[u]
    possible = [(u, v) for u, v in itertools.permutations(order, 2) if rank[u] < rank[v]]
    if possible:
        edges += draw(st.lists(st.sampled_from(possible), max_size=4))
    return layout(blocks, edges, devices)


@st.composite
def instances(draw: st.DrawFn, micro_batches: Sequence[int] = (0, 1, 2)) -> MicrobatchInstance:
    """Draw instances with little memory that at least one micro-batch at a time can use."""
    drawn = draw(layouts())
    least = max(sum(max(0, b.memory) for b in drawn.blocks if d in b.devices) for d in (0, 1))
    return MicrobatchInstance.of(
        drawn,
        memory=max(1, draw(st.integers(least, least + 2))),
        micro_batches=draw(st.sampled_from(micro_batches)),
    )


def optimum(instance: MicrobatchInstance) -> int:
    """Return the least period or makespan, found once."""
    return _optimum(canonical_json(instance.to_json()))


@cache
def _optimum(document: str) -> int:
    instance = MicrobatchInstance.from_json(json.loads(document))
    if instance.micro_batches:
        return optimal_makespan(instance)
    return optimal_period(instance)


# Period.


def optimal_period(instance: MicrobatchInstance) -> int:
    """Return the least P such that the blocks can start at sigma_i + m P for all integers m.

    Each schedule with a repetend repeats like this in its middle. If every release comes after its
    allocation, cutting off the micro-batches before 0 and from N on leaves a schedule.
    """
    return next(P for P in itertools.count(1) if any(steady_states(instance, P)))


def steady_states(instance: MicrobatchInstance, period: int) -> Iterator[tuple[int, ...]]:
    """Yield sigma, at least one if there is any: phases, then how many periods to add to each."""
    blocks = instance.layout.blocks
    for phases in itertools.product(range(period), repeat=len(blocks)):
        if phases[0] == 0 and _is_exclusive(instance, phases, period):
            for stages in _stages(instance, phases, period):
                sigma = tuple(o + s * period for o, s in zip(phases, stages, strict=True))
                if _fits(instance, sigma, period):
                    yield sigma


def _is_exclusive(instance: MicrobatchInstance, phases: tuple[int, ...], period: int) -> bool:
    for device in range(instance.layout.devices):
        ticks = [
            (start + tick) % period
            for start, block in zip(phases, instance.layout.blocks, strict=True)
            if device in block.devices
            for tick in range(block.duration)
        ]
        if len(ticks) != len(set(ticks)):
            return False
    return True


def _stages(
    instance: MicrobatchInstance, phases: tuple[int, ...], period: int
) -> Iterator[tuple[int, ...]]:
    """Yield the least that keep the dependencies, and all with delays in which these may differ.

    In a part whose blocks follow each other one by one, no delay makes a difference smaller. Else
    a block has to wait for another path at most.
    """
    blocks = instance.layout.blocks
    dag = instance.layout.dag
    edges = list(zip(dag.sources.tolist(), dag.targets.tolist(), strict=True))
    order = dag.topological_order.tolist()

    def earliest(block: int, chosen: dict[int, int]) -> int:
        ends = [phases[u] + blocks[u].duration - phases[block] for u, v in edges if v == block]
        before = [chosen[u] for u, v in edges if v == block]
        return max((s - (-end // period) for s, end in zip(before, ends, strict=True)), default=0)

    least: dict[int, int] = {}
    for block in order:
        least[block] = earliest(block, least)
    reach = 0 if _follow_one_by_one(edges, len(blocks)) else max(least.values())

    def extend(chosen: dict[int, int]) -> Iterator[dict[int, int]]:
        if len(chosen) == len(blocks):
            yield chosen
            return
        block = order[len(chosen)]
        low = earliest(block, chosen)
        for stage in range(low, low + reach + 1):
            yield from extend({**chosen, block: stage})

    for chosen in extend({}):
        yield tuple(chosen[block] for block in range(len(blocks)))


def _follow_one_by_one(edges: list[tuple[int, int]], blocks: int) -> bool:
    """Whether of any two blocks that both lead to a third or both wait for one, one is first."""
    before = [[u == v or (u, v) in edges for v in range(blocks)] for u in range(blocks)]
    for w, u, v in itertools.product(range(blocks), repeat=3):
        before[u][v] |= before[u][w] and before[w][v]
    return all(
        before[u][v] or before[v][u]
        for u, v, w in itertools.product(range(blocks), repeat=3)
        if (before[u][w] and before[v][w]) or (before[w][u] and before[w][v])
    )


def _fits(instance: MicrobatchInstance, sigma: tuple[int, ...], period: int) -> bool:
    """Whether memory suffices, in the middle of enough micro-batches one after another."""
    blocks = instance.layout.blocks
    some = max(sigma) // period + 2
    for device, capacity in enumerate(instance.capacity):
        events = sorted(
            (start + number * period, block.memory)
            for start, block in zip(sigma, blocks, strict=True)
            if device in block.devices
            for number in range(2 * some)
        )
        if any(held > capacity for held in itertools.accumulate(change for _, change in events)):
            return False
    return True


# Makespan.


def optimal_makespan(instance: MicrobatchInstance, *, in_order: bool = True) -> int:
    """Return the least makespan of N micro-batches, over all orders of starts.

    Given the order, each block starts as soon as it may and not before the one ahead of it in the
    order; what a device holds depends on the order alone.

    Parameters
    ----------
    in_order
        Whether to look only at orders in which a block's micro-batches start one after another
        ([TESSEL24], Property IV.1).
    """
    blocks, count = instance.layout.blocks, instance.micro_batches
    dag = instance.layout.dag
    needs: list[list[int]] = [[] for _ in blocks]
    for u, v in zip(dag.sources.tolist(), dag.targets.tolist(), strict=True):
        needs[v].append(u)
    best = count * sum(block.duration for block in blocks) + 1
    seen = set()

    def search(
        ends: dict[tuple[int, int], int],
        now: int,
        free: tuple[int, ...],
        held: tuple[int, ...],
        left: tuple[int, ...],
    ) -> None:
        nonlocal best
        if len(ends) == count * len(blocks):
            best = min(best, max(free))
            return
        state = (frozenset((job, max(end, now)) for job, end in ends.items()), now, free)
        if state in seen or any(f + left[d] >= best for d, f in enumerate(free)):
            return
        seen.add(state)
        for number, block in itertools.product(range(count), range(len(blocks))):
            if (number, block) in ends or any((number, u) not in ends for u in needs[block]):
                continue
            if in_order and number and (number - 1, block) not in ends:
                continue
            what = blocks[block]
            holds = tuple(h + what.memory * (d in what.devices) for d, h in enumerate(held))
            if any(h > c for h, c in zip(holds, instance.capacity, strict=True)):
                continue
            start = max(
                now, *(free[d] for d in what.devices), *(ends[number, u] for u in needs[block]), 0
            )
            end = start + what.duration
            frees = tuple(end if d in what.devices else f for d, f in enumerate(free))
            lefts = tuple(x - what.duration * (d in what.devices) for d, x in enumerate(left))
            search({**ends, (number, block): end}, start, frees, holds, lefts)

    nothing = (0,) * instance.layout.devices
    search({}, 0, nothing, nothing, tuple(count * load for load in instance.layout.loads))
    return best
