"""The number of micro-batches in flight at each stage, and the order of blocks that follows."""

from collections.abc import Sequence

from boundmark.heuristics.microbatch.constructors.device_orders import DeviceOrders
from boundmark.heuristics.microbatch.constructors.pattern import Pattern
from boundmark.heuristics.microbatch.constructors.stages import Stage, count_fitting
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def count_in_flight(
    instance: MicrobatchInstance, stages: Sequence[Stage], limit: int | None = None
) -> list[int]:
    """Return how many micro-batches each stage has in flight: S for the first, 1 for the last one.

    There are fewer if memory or `limit` asks for it. The time that a micro-batch stays in a stage
    falls from the first stage to the last one, and so do the counts, in proportion.

    Raises
    ------
    UnsupportedError
        If a device has no room for one micro-batch.
    """
    size = len(stages)
    for first in range(min(size, limit or size), 0, -1):
        counts = [-(-first * (size - number) // size) for number in range(size)]
        if all(
            count <= count_fitting(instance, stage, count)
            for stage, count in zip(stages, counts, strict=True)
        ):
            break
    return counts


def stage_turns(stage: Stage, in_flight: int) -> list[tuple[int, int]]:
    """Return what a stage's device repeats, pairs (block, lag): forward, then any backward."""
    if stage.backward is None:
        return [(stage.forward, 0)]
    return [(stage.forward, in_flight - 1), (stage.backward, 0)]


def order_stages_alone(
    layout: BlockLayout, stages: Sequence[Stage], in_flight: Sequence[int], micro_batches: int
) -> DeviceOrders:
    """Return the 1F1B orders of the stages' own blocks, as if there were no others."""
    orders: list[Sequence[tuple[int, int]]] = [()] * layout.devices
    for stage, count in zip(stages, in_flight, strict=True):
        alone = Pattern((tuple(stage_turns(stage, count)),))
        (orders[stage.device],) = alone.orders(micro_batches)
    return orders
