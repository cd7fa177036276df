"""Schedules of stages with a device each: `gpipe`, `1f1b`, `1f1b-plus` and `zb-h1`.

`gpipe`: all forward blocks, then all backward blocks, on any layout ([GPIPE19]). `1f1b`: one
forward and one backward block in turn ([DAPPLE21]); `1f1b-plus` with distributed blocks beside them
([TESSEL24]). `zb-h1`: split backward blocks fill the bubbles of 1F1B ([ZEROBUBBLE24]).
"""

from bisect import bisect_left

import numpy as np

from boundmark.heuristics.microbatch.pattern import (
    DeviceOrders,
    Pattern,
    fits,
    mean_period,
    peak_memory,
    report_orders,
    report_pattern,
)
from boundmark.heuristics.microbatch.stages import (
    Stage,
    backward_blocks,
    count_in_flight,
    find_stages,
    forward_blocks,
    has_chain,
    merge_orders,
    order_stages_alone,
    require_one_stage_per_device,
    stage_turns,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run_1f1b(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report 1F1B on a layout with one stage per device."""
    layout = instance.layout
    stages = find_stages(layout)
    require_one_stage_per_device(stages)
    if any(stage.weight is not None for stage in stages):
        raise UnsupportedError("backward blocks are split; expected whole ones, or method zb-h1.")
    turns: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    for stage, in_flight in zip(stages, count_in_flight(instance, stages), strict=True):
        turns[stage.device] = stage_turns(stage, in_flight)
    report_pattern(instance, Pattern.aligned(layout, turns), progress)


def run_1f1b_plus(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report 1F1B with distributed blocks "inserted closely to their neighbouring operators".

    If the period counts, the pattern is the one into which the middle of many micro-batches
    settles. Where memory is short, fewer micro-batches are in flight.
    """
    layout = instance.layout
    stages = find_stages_beside_distributed_blocks(layout)
    for limit in range(len(stages), 0, -1):
        count = instance.micro_batches or 8 * len(stages) + 8
        in_flight = count_in_flight(instance, stages, limit)
        orders, starts = merge_orders(
            layout, [order_stages_alone(layout, stages, in_flight, count)], count
        )
        if instance.micro_batches:
            if limit == 1 or fits(instance, orders):
                report_orders(instance, orders, progress)
                return
            continue
        steady = starts[len(starts) // 2].tolist()
        pattern = Pattern.of_starts(layout, steady, mean_period(starts))
        if limit == 1 or fits(instance, pattern.orders(pattern.micro_batches)):
            report_pattern(instance, pattern, progress)
            return


def find_stages_beside_distributed_blocks(layout: BlockLayout) -> tuple[Stage, ...]:
    """Return the stages of the blocks that run on one device."""
    single = [i for i, block in enumerate(layout.blocks) if len(block.devices) == 1]
    if len(single) == len(layout.blocks):
        raise UnsupportedError(
            "no block is on several devices; expected one, or method 1f1b for other layouts."
        )
    stages = find_stages(layout, single)
    require_one_stage_per_device(stages)
    if not has_chain(layout, [*forward_blocks(stages), *backward_blocks(stages)]):
        raise UnsupportedError(
            "the blocks on one device form several branches; expected one chain of stages."
        )
    if any(stage.weight is not None for stage in stages):
        raise UnsupportedError("backward blocks are split; expected whole ones.")
    return stages


def run_gpipe(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report GPipe on groups of as many micro-batches as fit, one group after the other."""
    if not instance.micro_batches:
        raise UnsupportedError(
            "GPipe ends with a flush and repeats nothing; expected a number of micro-batches."
        )
    layout = instance.layout
    fitting = bisect_left(
        range(1, instance.micro_batches + 1),
        True,
        key=lambda count: not fits(instance, order_group(layout, 0, count)),
    )
    if not fitting:
        raise UnsupportedError("one micro-batch holds more than the capacity of a device.")
    orders: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    for first in range(0, instance.micro_batches, fitting):
        group = min(fitting, instance.micro_batches - first)
        for order, part in zip(orders, order_group(layout, first, group), strict=True):
            order += part
    report_orders(instance, orders, progress)


def order_group(layout: BlockLayout, first: int, count: int) -> DeviceOrders:
    """Return the device orders of a group of micro-batches.

    In each of the two phases, blocks are sorted by the length of the longest path to them plus the
    number of the micro-batch. So every block comes after those that it waits for, on any layout.
    """
    dag = layout.dag
    depth = np.zeros(dag.nodes, dtype=np.int64)
    for i in dag.topological_order.tolist():
        depth[i] = max((depth[producer] + 1 for producer in dag.producers_of(i)), default=0)
    orders = []
    for members in layout.on_device:
        turns = [
            (depth[i] + number, depth[i], i, number) for i in members for number in range(count)
        ]
        phases: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for _, _, i, number in sorted(turns):
            phases[layout.blocks[i].kind != "forward"].append((i, first + number))
        orders.append(phases[0] + phases[1])
    return orders


def run_zb_h1(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ZB-H1 on a layout with one stage per device and split backward blocks.

    Stage s has as many micro-batches in flight between forward and backward block as in 1F1B, and
    computes the gradients of its weights s micro-batches later, so that all devices hold as much as
    the first one does in 1F1B. The delay is shorter where memory is short.
    """
    layout = instance.layout
    stages = find_stages(layout)
    require_one_stage_per_device(stages)
    for stage in stages:
        if stage.weight is None:
            raise UnsupportedError(
                f"device {stage.device} has no block of kind weight; "
                "expected split backward blocks."
            )
    turns: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    in_flight = count_in_flight(instance, stages)
    for number, (stage, count) in enumerate(zip(stages, in_flight, strict=True)):
        delay = number
        while delay and not _fits(instance, stage, count, delay):
            delay -= 1
        turns[stage.device] = _turns(stage, count, delay)
    report_pattern(instance, Pattern.aligned(layout, turns), progress)


def _turns(stage: Stage, in_flight: int, delay: int) -> list[tuple[int, int]]:
    """Return the turns of a stage whose weight block comes `delay` micro-batches later."""
    assert stage.backward is not None
    assert stage.weight is not None
    return [(stage.forward, delay + in_flight - 1), (stage.backward, delay), (stage.weight, 0)]


def _fits(instance: MicrobatchInstance, stage: Stage, in_flight: int, delay: int) -> bool:
    """Whether the device has memory for micro-batches in flight or waiting for a weight block."""
    turns = _turns(stage, in_flight, delay)
    alone = Pattern((tuple(turns),))
    order = alone.orders(alone.micro_batches)[0]
    return peak_memory(instance.layout, order) <= instance.capacity[stage.device]
