"""`chimera-direct`: two pipelines in opposite directions ([CHIMERA21])."""

from collections.abc import Mapping, Sequence

from boundmark.heuristics.microbatch.first_fit import (
    add_up_slots,
    round_to_slots,
    schedule_first_fit,
)
from boundmark.heuristics.microbatch.merging import merge_orders
from boundmark.heuristics.microbatch.pattern import Pattern
from boundmark.heuristics.microbatch.reporting import report_best, report_pattern
from boundmark.heuristics.microbatch.stages import (
    Stage,
    backward_blocks,
    find_stages,
    forward_blocks,
    order_stages_alone,
    require_one_stage_per_device,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report Chimera on a layout of two pipelines, one a mirror image of the other.

    Chimera's unit has D/2 micro-batches of each pipeline, and "direct concatenation" lets the next
    unit's forward blocks fill the bubbles. Here the same devices hold as much, at most D/2
    micro-batches of a pipeline, but a period has one micro-batch of each, as in [TESSEL24]. It is
    the shortest period, in slots, in which both pipelines find room if every block starts as soon
    as its device is free.

    Raises
    ------
    UnsupportedError
        If the layout has another form, or a micro-batch of each pipeline does not fit.
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
    """Return the stages of two independent pipelines through the devices, in opposite directions.

    Raises
    ------
    UnsupportedError
        If the layout has another form.
    """
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
