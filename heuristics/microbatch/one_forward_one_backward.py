"""`1f1b`: one forward and one backward block in turn ([DAPPLE21]); `1f1b-plus` ([TESSEL24])."""

from boundmark.heuristics.microbatch.device_orders import fits
from boundmark.heuristics.microbatch.merging import has_chain, merge_orders
from boundmark.heuristics.microbatch.pattern import Pattern, mean_period
from boundmark.heuristics.microbatch.reporting import report_orders, report_pattern
from boundmark.heuristics.microbatch.stages import (
    Stage,
    backward_blocks,
    count_in_flight,
    find_stages,
    forward_blocks,
    order_stages_alone,
    require_one_stage_per_device,
    stage_turns,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report 1F1B on a layout with one stage per device.

    Raises
    ------
    UnsupportedError
        If the layout has another form, or a micro-batch does not fit.
    """
    layout = instance.layout
    stages = find_stages(layout)
    require_one_stage_per_device(stages)
    if any(stage.weight is not None for stage in stages):
        raise UnsupportedError("backward blocks are split; expected whole ones, or method zb-h1.")
    turns: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    for stage, in_flight in zip(stages, count_in_flight(instance, stages), strict=True):
        turns[stage.device] = stage_turns(stage, in_flight)
    report_pattern(instance, Pattern.aligned(layout, turns), progress)


def run_plus(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report 1F1B with distributed blocks "inserted closely to their neighbouring operators".

    If the period counts, the pattern is the one into which the middle of many micro-batches
    settles. Where memory is short, fewer micro-batches are in flight.

    Raises
    ------
    UnsupportedError
        If the other blocks are no chain of stages, one per device, or a micro-batch does not fit.
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
    """Return the stages of the blocks that run on one device.

    Raises
    ------
    UnsupportedError
        If all blocks are, or these are no chain of stages with a device each.
    """
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
