"""The constraints of a schedule ([TESSEL24], Equation 1)."""

from collections.abc import Sequence

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.microbatch.measures import makespan
from boundmark.problems.microbatch.schedule import Schedule

# Starts, dependencies and devices to look at for one schedule, as many as the checker does at most.
MOST_STEPS = 2**26


def check_schedule(layout: BlockLayout, capacity: Sequence[int], starts: IntArray) -> None:
    """Check the start times of some micro-batches.

    Parameters
    ----------
    capacity
        Memory of each device.
    starts
        Start of each block of each micro-batch, shape (N, K).

    Raises
    ------
    InvalidInputError
        If a block starts before 0 or before what it waits for is done, if a device would run two
        blocks at a time, or if it would hold more than its capacity.
    """
    blocks = layout.blocks
    if starts.ndim != 2 or starts.shape[1] != len(blocks):
        raise InvalidInputError(
            f"the schedule has start times for {starts.shape[-1]} blocks; expected {len(blocks)}."
        )
    if starts.min() < 0:
        raise InvalidInputError(f"a block starts at {starts.min()}; expected no start before 0.")
    ends = starts + layout.durations
    sources, targets = layout.dag.sources, layout.dag.targets
    early = np.argwhere(starts[:, targets] < ends[:, sources])
    if len(early):
        number, edge = early[0]
        raise InvalidInputError(
            f"block {blocks[targets[edge]].name!r} of micro-batch {number} starts at "
            f"{starts[number, targets[edge]]}; expected the end of block "
            f"{blocks[sources[edge]].name!r} first, at {ends[number, sources[edge]]}."
        )
    for device, members in enumerate(layout.on_device):
        if not members:
            continue
        here = np.array(members)
        when = starts[:, here].ravel()
        order = np.argsort(when, kind="stable")
        free = ends[:, here].ravel()[order]
        overlapping = np.flatnonzero(when[order][1:] < free[:-1])
        if len(overlapping):
            first, second = order[overlapping[0] : overlapping[0] + 2]
            names = [
                f"{blocks[here[at % len(here)]].name!r} of micro-batch {at // len(here)}"
                for at in (first, second)
            ]
            raise InvalidInputError(
                f"device {device} runs {names[0]} and {names[1]} at once, from "
                f"{when[second]}; expected one block at a time."
            )
        held = np.cumsum(np.tile(layout.memory[here], len(starts))[order])
        if held.max() > capacity[device]:
            at = int(held.argmax())
            raise InvalidInputError(
                f"device {device} holds {held[at]} from {when[order[at]]} on; "
                f"expected at most {capacity[device]}."
            )


def check_for_every_count(layout: BlockLayout, capacity: Sequence[int], schedule: Schedule) -> None:
    """Check a schedule with a repetend for its own number of micro-batches and any larger one.

    Raises
    ------
    InvalidInputError
        If it breaks a constraint for some number, or is so long that too many numbers decide.
    """
    counts = counts_that_decide(layout, schedule)
    each = 1 + len(layout.blocks) + layout.dag.edges + 3 * sum(map(len, layout.on_device))
    # `len` knows no range beyond 64 bits.
    numbers = counts.stop - counts.start
    steps = numbers * layout.devices + each * numbers * (counts.start + counts.stop - 1) // 2
    if steps > MOST_STEPS:
        raise InvalidInputError(
            f"the schedule has to be checked for up to {counts.stop - 1} micro-batches, since it "
            f"lasts for so many periods, which takes more than {MOST_STEPS:,} steps; "
            "expected a shorter one."
        )
    for count in counts:
        check_schedule(layout, capacity, schedule.starts_for(count))


def counts_that_decide(layout: BlockLayout, schedule: Schedule) -> range:
    """Return numbers of micro-batches that decide whether a schedule is feasible for any number.

    With r repetitions more, the warm-up is over before the last repetition starts if r periods are
    longer than the schedule, T. From then on, one repetition more brings no pair of blocks as close
    as they have not been before, and every pair that depends on each other has been seen once r is
    at least the number of micro-batches. Between the end of the warm-up and the start of the
    cool-down, a device holds the same one period later, since micro-batches release what they
    allocate; r >= T / period + 2 leaves a whole period between.
    """
    if schedule.repetend is None:
        return range(schedule.micro_batches, schedule.micro_batches + 1)
    if schedule.starts.shape[1] != len(layout.blocks):
        raise InvalidInputError(
            f"the schedule has start times for {schedule.starts.shape[1]} blocks; "
            f"expected {len(layout.blocks)}."
        )
    length = makespan(layout, schedule.starts)
    more = max(schedule.micro_batches, -(-length // schedule.repetend.period) + 2)
    return range(schedule.micro_batches, schedule.micro_batches + more + 1)
