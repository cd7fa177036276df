"""Schedules made by hand."""

import numpy as np

from boundmark.datasets.microbatch.shapes import load
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule


def v_shape(memory: int = 8, micro_batches: int = 0) -> tuple[MicrobatchInstance, Schedule]:
    """Return a V on 4 devices, and a schedule without bubbles for 5 micro-batches or more."""
    instance = MicrobatchInstance.of(load("v-4-train"), memory=memory, micro_batches=micro_batches)
    one, period = np.array([0, 1, 2, 3, 4, 7, 10, 13]), 4
    starts = one + period * np.arange(5)[:, None]
    return instance, Schedule(starts, Repetend(period, 4 - one // period))


def one_after_another(
    memory: int = 8, micro_batches: int = 0
) -> tuple[MicrobatchInstance, Schedule]:
    """Return the same V, and the schedule that treats a micro-batch every 16 ticks."""
    instance, schedule = v_shape(memory, micro_batches)
    return instance, Schedule(schedule.starts[:1], Repetend(16, np.zeros(8, dtype=np.int64)))
