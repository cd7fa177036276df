"""`zb-h1`: split backward blocks fill the bubbles of 1F1B ([ZEROBUBBLE24])."""

from boundmark.heuristics.microbatch.device_orders import peak_memory
from boundmark.heuristics.microbatch.pattern import Pattern
from boundmark.heuristics.microbatch.reporting import report_pattern
from boundmark.heuristics.microbatch.stages import (
    Stage,
    count_in_flight,
    find_stages,
    require_one_stage_per_device,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance


def run(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report ZB-H1 on a layout with one stage per device and split backward blocks.

    Stage s has as many micro-batches in flight between forward and backward block as in 1F1B, and
    computes the gradients of its weights s micro-batches later, so that all devices hold as much as
    the first one does in 1F1B. The delay is shorter where memory is short.

    Raises
    ------
    UnsupportedError
        If the layout has another form, or a micro-batch does not fit.
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
