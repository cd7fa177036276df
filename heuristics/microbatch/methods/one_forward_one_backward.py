"""`1f1b`: one forward and one backward block in turn ([DAPPLE21])."""

from boundmark.heuristics.microbatch.constructors.in_flight import count_in_flight, stage_turns
from boundmark.heuristics.microbatch.constructors.pattern import Pattern
from boundmark.heuristics.microbatch.constructors.reporting import report_pattern
from boundmark.heuristics.microbatch.constructors.stages import (
    find_stages,
    require_one_stage_per_device,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance


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
