"""Schedules of stages that share devices: `interleaved-1f1b` and `chimera-direct`.

`interleaved-1f1b`: several stages per device, in turn ([MEGATRON21], Section 2.2).
`chimera-direct`: two pipelines in opposite directions ([CHIMERA21]). Both look for repeating
schedules by first fit: a block starts as soon as its device is free in every period. Time is
counted in slots of a few ticks, so that the search does not take longer with more ticks.
"""

import itertools
from collections.abc import Mapping, Sequence

from boundmark.heuristics.microbatch.pattern import (
    DeviceOrders,
    Pattern,
    fits,
    report_best,
    report_pattern,
)
from boundmark.heuristics.microbatch.stages import (
    Stage,
    backward_blocks,
    find_stages,
    forward_blocks,
    merge_orders,
    order_stages_alone,
    require_one_stage_per_device,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run_interleaved(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report the interleaved 1F1B schedule on a layout with stage s on device s mod D.

    The published order goes through groups of D micro-batches; it is reported for a multiple of D
    micro-batches if it is shorter. The other order has one micro-batch per period.
    """
    layout = instance.layout
    chunks = find_interleaved_stages(layout)
    devices, count = len(chunks), instance.micro_batches
    pattern = find_fitting_pattern(instance, chunks)
    if not count:
        report_pattern(instance, pattern, progress)
        return
    found = [pattern.orders(count)]
    if count % devices == 0:
        found.append(published_orders(layout, chunks, count))
    report_best(instance, found, progress)


def find_interleaved_stages(layout: BlockLayout) -> tuple[tuple[Stage, ...], ...]:
    """Return the stages of each device, in the order in which data first reaches the devices."""
    stages = find_stages(layout)
    devices = list(dict.fromkeys(stage.device for stage in stages))
    rounds, rest = divmod(len(stages), len(devices))
    if rounds < 2 or rest or [stage.device for stage in stages] != devices * rounds:
        raise UnsupportedError(
            f"the stages are on the devices {[stage.device for stage in stages]} in turn; "
            "expected the same sequence of devices, at least twice."
        )
    if any(stage.weight is not None for stage in stages):
        raise UnsupportedError("backward blocks are split; expected whole ones.")
    return tuple(stages[first :: len(devices)] for first in range(len(devices)))


def published_orders(
    layout: BlockLayout, chunks: Sequence[Sequence[Stage]], micro_batches: int
) -> DeviceOrders:
    """Return the published order for a multiple of D micro-batches.

    A device goes through D micro-batches with its first stage, then with the next one, and so on;
    backward likewise from its last stage on. Before its first backward block, device d of D with V
    stages each has run 2 (D - d - 1) + (V - 1) D + 1 forward blocks.
    """
    devices, rounds = len(chunks), len(chunks[0])
    orders: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    for position, stages in enumerate(chunks):
        forward: list[tuple[int, int]] = []
        backward: list[tuple[int, int]] = []
        for turn in range(micro_batches * rounds):
            group, within = divmod(turn, devices * rounds)
            stage, number = divmod(within, devices)
            number += group * devices
            forward.append((stages[stage].forward, number))
            block = stages[rounds - 1 - stage].backward
            if block is not None:
                backward.append((block, number))
        ahead = 2 * (devices - position - 1) + (rounds - 1) * devices
        orders[stages[0].device] = _alternating(forward, backward, ahead)
    return orders


def _alternating(
    forward: list[tuple[int, int]], backward: list[tuple[int, int]], ahead: int
) -> list[tuple[int, int]]:
    """Return `ahead` forward turns, then forward and backward in turn, then the remaining ones."""
    if not backward:
        return forward
    pairs = list(zip(forward[ahead:], backward, strict=False))
    return [*forward[:ahead], *itertools.chain.from_iterable(pairs), *backward[len(pairs) :]]


def find_fitting_pattern(
    instance: MicrobatchInstance, chunks: Sequence[Sequence[Stage]]
) -> Pattern:
    """Return a pattern with one micro-batch per period that fits into memory, if one is found.

    The first choice wastes no time: each device has a place in the period for each of its blocks,
    and a block starts at its place as soon as what it waits for is done. Where that needs too much
    memory, blocks start as early as they can, and the period grows until the pattern fits. If none
    does, the last pattern is returned.
    """
    layout = instance.layout
    pattern = _slotted(layout, chunks)
    slots = round_to_slots(layout)
    stages = list(itertools.chain.from_iterable(zip(*chunks, strict=True)))
    sequence = [*forward_blocks(stages), *backward_blocks(stages)]
    for period in range(max(add_up_slots(layout, slots)), sum(slots) + 1):
        if fits(instance, pattern.orders(pattern.micro_batches)):
            break
        starts = schedule_first_fit(layout, [sequence], slots, period, (0,), {})
        if starts is not None:
            pattern = Pattern.of_starts(layout, starts, period)
    return pattern


def _slotted(layout: BlockLayout, chunks: Sequence[Sequence[Stage]]) -> Pattern:
    """Return the pattern in which each device runs a forward and a backward block in turn."""
    period = max(layout.loads)
    slot: dict[int, int] = {}
    lead = 0
    for stages in chunks:
        time = lead
        for stage, opposite in zip(stages, reversed(stages), strict=True):
            for block in (stage.forward, opposite.backward):
                if block is not None:
                    slot[block] = time
                    time += layout.blocks[block].duration
        lead += layout.blocks[stages[0].forward].duration
    starts = [0] * len(layout.blocks)
    for i in layout.dag.topological_order.tolist():
        inputs = layout.dag.producers_of(i).tolist()
        ready = max((starts[p] + layout.blocks[p].duration for p in inputs), default=0)
        starts[i] = ready + (slot[i] - ready) % period
    return Pattern.of_starts(layout, starts, period)


def run_chimera(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report Chimera on a layout of two pipelines, one a mirror image of the other.

    Chimera's unit has D/2 micro-batches of each pipeline, and "direct concatenation" lets the next
    unit's forward blocks fill the bubbles. Here the same devices hold as much, at most D/2
    micro-batches of a pipeline, but a period has one micro-batch of each, as in [TESSEL24]. It is
    the shortest period, in slots, in which both pipelines find room if every block starts as soon
    as its device is free.
    """
    layout = instance.layout
    pipelines = find_opposite_pipelines(layout)
    limits = _limits(instance, pipelines)
    slots = round_to_slots(layout)
    sequences = [[*forward_blocks(stages), *backward_blocks(stages)] for stages in pipelines]
    # With a period of all blocks together, each micro-batch is done before the next one begins.
    for period in range(max(add_up_slots(layout, slots)), sum(slots) + 1):
        for lead in range(period):
            starts = schedule_first_fit(layout, sequences, slots, period, (0, lead), limits)
            if starts is not None:
                pattern = Pattern.of_starts(layout, starts, period)
                _report(instance, pipelines, limits, pattern, progress)
                return
    raise UnsupportedError("one micro-batch of each pipeline does not fit on the devices together.")


def _report(
    instance: MicrobatchInstance,
    pipelines: Sequence[Sequence[Stage]],
    limits: Mapping[int, tuple[int, int]],
    pattern: Pattern,
    progress: Progress,
) -> None:
    """Report the pattern, or for N micro-batches both pipelines' 1F1B merged, if it is shorter.

    The latter is Chimera's unit, for as many micro-batches as this has.
    """
    layout, count = instance.layout, instance.micro_batches
    if not count:
        report_pattern(instance, pattern, progress)
        return
    parts = []
    for stages in pipelines:
        in_flight = [1 if s.backward is None else limits[s.backward][1] for s in stages]
        parts.append(order_stages_alone(layout, stages, in_flight, count))
    unit, _ = merge_orders(layout, parts, count)
    report_best(instance, [pattern.orders(count), unit], progress)


def find_opposite_pipelines(layout: BlockLayout) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
    """Return stages of two independent pipelines through the devices, in opposite directions."""
    parts = _components(layout)
    if len(parts) != 2:
        raise UnsupportedError(
            f"the layout has {len(parts)} independent pipelines; expected two, as in an X-shape."
        )
    first, second = (find_stages(layout, part) for part in parts)
    for stages in (first, second):
        require_one_stage_per_device(stages)
    if [stage.device for stage in first] != [stage.device for stage in reversed(second)]:
        raise UnsupportedError(
            "the pipelines are no mirror images; expected both to use the same devices, "
            "in opposite directions."
        )
    if any(stage.weight is not None for stage in (*first, *second)):
        raise UnsupportedError("backward blocks are split; expected whole ones.")
    return first, second


def _limits(
    instance: MicrobatchInstance, pipelines: Sequence[Sequence[Stage]]
) -> dict[int, tuple[int, int]]:
    """Return for each backward block its forward block, and how many may be in flight between.

    For stage s of D they are min(D/2, D - s), fewer where memory is short, at least 1.
    """
    size = len(pipelines[0])
    limits: dict[int, tuple[int, int]] = {}
    for stages, others in (pipelines, pipelines[::-1]):
        for number, (stage, other) in enumerate(zip(stages, reversed(others), strict=True)):
            if stage.backward is None:
                continue
            blocks, capacity = instance.layout.blocks, instance.capacity[stage.device]
            count = max(1, min(size // 2, size - number))
            left = capacity - blocks[other.forward].memory
            while count > 1 and count * blocks[stage.forward].memory > left:
                count -= 1
            limits[stage.backward] = (stage.forward, count)
    return limits


def _components(layout: BlockLayout) -> list[list[int]]:
    """Return the blocks of each weakly connected part."""
    parts: list[list[int]] = []
    unseen = set(range(layout.dag.nodes))
    while unseen:
        waiting = [min(unseen)]
        part = set()
        while waiting:
            block = waiting.pop()
            if block not in part:
                part.add(block)
                waiting += layout.dag.producers_of(block).tolist()
                waiting += layout.dag.consumers_of(block).tolist()
        unseen -= part
        parts.append(sorted(part))
    return parts


def round_to_slots(layout: BlockLayout) -> list[int]:
    """Return the duration of each block in slots, rounded up.

    The busiest device needs about 32 slots for one micro-batch.
    """
    ticks = -(-max(layout.loads) // 32)
    return [-(-block.duration // ticks) for block in layout.blocks]


def add_up_slots(layout: BlockLayout, slots: Sequence[int]) -> list[int]:
    """Return the number of slots in which each device computes for one micro-batch."""
    return [sum(slots[i] for i in members) for members in layout.on_device]


def schedule_first_fit(
    layout: BlockLayout,
    sequences: Sequence[Sequence[int]],
    slots: Sequence[int],
    period: int,
    leads: Sequence[int],
    limits: Mapping[int, tuple[int, int]],
) -> list[int] | None:
    """Return a start slot for each block of micro-batch 0, or None if some block finds no room."""
    busy = [[False] * period for _ in range(layout.devices)]
    starts = [0] * len(slots)
    ready = list(leads)
    for step in zip(*sequences, strict=True):
        for number, block in enumerate(step):
            (device,) = layout.blocks[block].devices
            start = _free_from(busy[device], ready[number], slots[block])
            if start is None:
                return None
            if block in limits:
                opened, periods = limits[block]
                if start - starts[opened] > periods * period:
                    return None
            for slot in range(start, start + slots[block]):
                busy[device][slot % period] = True
            starts[block], ready[number] = start, start + slots[block]
    return starts


def _free_from(busy: Sequence[bool], ready: int, length: int) -> int | None:
    """Return the first slot from `ready` on where `length` slots are free, None if there is none.

    `busy` says of each slot of the period whether it is taken.
    """
    period = len(busy)
    for start in range(ready, ready + period):
        if not any(busy[slot % period] for slot in range(start, start + length)):
            return start
    return None
