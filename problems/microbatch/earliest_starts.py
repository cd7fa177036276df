"""The earliest start times with which devices keep to an order of blocks."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.microbatch.layout import BlockLayout

# (micro-batch, block)
Job: TypeAlias = tuple[int, int]


def earliest_starts(layout: BlockLayout, jobs: Iterable[Job]) -> dict[Job, int]:
    """Return the earliest start of each job if the devices take up the jobs in this sequence.

    Parameters
    ----------
    jobs
        A block comes after those that it waits for; those that are left out are done at time 0.
    """
    producers = [layout.dag.producers_of(i).tolist() for i in range(layout.dag.nodes)]
    starts: dict[Job, int] = {}
    ends: dict[Job, int] = {}
    free = [0] * layout.devices
    for number, i in jobs:
        block = layout.blocks[i]
        inputs = (ends.get((number, producer), 0) for producer in producers[i])
        start = max(0, *inputs, *(free[device] for device in block.devices))
        starts[number, i] = start
        ends[number, i] = start + block.duration
        for device in block.devices:
            free[device] = start + block.duration
    return starts


def left_shifted(layout: BlockLayout, starts: IntArray) -> IntArray:
    """Return the earliest starts, shape (N, K), with the same order of blocks on each device.

    What a device holds depends on that order alone.
    """
    # What ends at a block's start began before it.
    sequence = np.argsort(starts, axis=None, kind="stable").tolist()
    earliest = earliest_starts(layout, (divmod(at, starts.shape[1]) for at in sequence))
    shifted = np.empty_like(starts)
    for job, start in earliest.items():
        shifted[job] = start
    return frozen(shifted)
