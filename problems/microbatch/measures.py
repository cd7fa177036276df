"""Measures of a schedule beside its objective: bubble rates, makespan, memory."""

from fractions import Fraction

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.microbatch.layout import BlockLayout


def steady_bubble_rate(layout: BlockLayout, period: int) -> Fraction:
    """Return the share of time that devices idle while a schedule repeats.

    It is the mean over the devices, "considering numerous micro-batches" ([TESSEL24], Table II).
    """
    return 1 - Fraction(sum(layout.loads), layout.devices * period)


def bubble_rate(layout: BlockLayout, starts: IntArray) -> Fraction:
    """Return the share of time that devices idle until the makespan of (N, K) start times."""
    return 1 - Fraction(sum(layout.loads) * len(starts), layout.devices * makespan(layout, starts))


def makespan(layout: BlockLayout, starts: IntArray) -> int:
    """Return when the last block ends, in ticks."""
    return int((starts + layout.durations).max())


def peak_memory(layout: BlockLayout, starts: IntArray) -> tuple[int, ...]:
    """Return the most memory that each device holds, shape (D,), with (N, K) start times."""
    peaks = []
    for members in layout.on_device:
        here = np.array(members, dtype=np.int64)
        order = np.argsort(starts[:, here].ravel(), kind="stable")
        held = np.cumsum(np.tile(layout.memory[here], len(starts))[order])
        peaks.append(max(0, int(held.max())) if len(held) else 0)
    return tuple(peaks)
