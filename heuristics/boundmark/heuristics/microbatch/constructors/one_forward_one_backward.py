"""`1f1b`: one forward block, one backward block in turn (Fan et al., DAPPLE, PPoPP 2021)."""

from collections.abc import Sequence

from boundmark.heuristics.microbatch.constructors.device_orders import DeviceOrders
from boundmark.heuristics.microbatch.constructors.pattern import Pattern
from boundmark.heuristics.microbatch.constructors.reporting import report_pattern
from boundmark.heuristics.microbatch.constructors.stages import (
    Stage,
    most_in_flight,
    one_stage_a_device,
    pipeline_stages,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report 1F1B on a layout with one stage a device.

    Raises
    ------
    UnsupportedError
        If the layout has another form, or a micro-batch does not fit.
    """
    layout = instance.layout
    stages = pipeline_stages(layout)
    one_stage_a_device(stages)
    if any(stage.weight is not None for stage in stages):
        raise UnsupportedError("backward blocks are split; expected whole ones, or method zb-h1.")
    turns: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    for stage, in_flight in zip(stages, in_flight_counts(instance, stages), strict=True):
        turns[stage.device] = stage_turns(stage, in_flight)
    report_pattern(instance, Pattern.aligned(layout, turns), progress)


def in_flight_counts(
    instance: MicrobatchInstance, stages: Sequence[Stage], limit: int | None = None
) -> list[int]:
    """Return how many micro-batches each stage has in flight: S for the first, 1 for the last one.

    Fewer if memory or `limit` says so: a micro-batch stays in a stage for a time that falls from
    the first stage to the last one, and so do the counts, in proportion.

    Raises
    ------
    UnsupportedError
        If a device has no room for one micro-batch.
    """
    size = len(stages)
    for first in range(min(size, limit or size), 0, -1):
        counts = [-(-first * (size - number) // size) for number in range(size)]
        if all(
            count <= most_in_flight(instance, stage, count)
            for stage, count in zip(stages, counts, strict=True)
        ):
            break
    return counts


def stage_turns(stage: Stage, in_flight: int) -> list[tuple[int, int]]:
    """Return the turns of a stage's device: a forward block, then a backward block if there are."""
    if stage.backward is None:
        return [(stage.forward, 0)]
    return [(stage.forward, in_flight - 1), (stage.backward, 0)]


def own_orders(
    layout: BlockLayout, stages: Sequence[Stage], in_flight: Sequence[int], micro_batches: int
) -> DeviceOrders:
    """Return the orders in which the devices of some stages run the blocks of these."""
    orders: list[Sequence[tuple[int, int]]] = [()] * layout.devices
    for stage, count in zip(stages, in_flight, strict=True):
        alone = Pattern((tuple(stage_turns(stage, count)),))
        (orders[stage.device],) = alone.orders(micro_batches)
    return orders


ONE_FORWARD_ONE_BACKWARD = Method(
    name="1f1b",
    problem="microbatch",
    kind="heuristic",
    summary="One forward and one backward block in turn, on one stage a device (DAPPLE, 2021).",
    run=run,
)
