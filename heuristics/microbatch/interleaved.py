"""`interleaved-1f1b`: several stages per device, in turn ([MEGATRON21], Section 2.2)."""

import itertools
from collections.abc import Sequence

from boundmark.heuristics.microbatch.device_orders import DeviceOrders, fits
from boundmark.heuristics.microbatch.first_fit import (
    add_up_slots,
    round_to_slots,
    schedule_first_fit,
)
from boundmark.heuristics.microbatch.pattern import Pattern
from boundmark.heuristics.microbatch.reporting import report_best, report_pattern
from boundmark.heuristics.microbatch.stages import (
    Stage,
    backward_blocks,
    find_stages,
    forward_blocks,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the interleaved 1F1B schedule on a layout with stage s on device s mod D.

    The published order goes through groups of D micro-batches; it is reported for a multiple of D
    micro-batches if it is shorter. The other order has one micro-batch per period.

    Raises
    ------
    UnsupportedError
        If the layout has another form, or a micro-batch does not fit.
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
    """Return the stages of each device, in the order in which data first reaches the devices.

    Raises
    ------
    UnsupportedError
        If there are not several rounds of stages through the devices, always in the same order.
    """
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
