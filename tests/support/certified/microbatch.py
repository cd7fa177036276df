"""Certificates of `microbatch` that prove the optimum of a tiny instance."""

import math

import numpy as np
from brute_force_microbatch import layout, optimal_makespan, steady_states, v_shape

from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule

IN_TWO_PARTS = layout(
    [("F", 1, 2, (0,)), ("S", 2, 0, (1,)), ("B", 1, -1, (0,)), ("B", 1, -1, (0,))],
    [(0, 1), (1, 2), (2, 3)],
    2,
)

TIGHT: dict[str, tuple[str, MicrobatchInstance]] = {
    "device-load": ("device-load", MicrobatchInstance.of(v_shape(), memory=2)),
    "device-load, makespan": (
        "device-load",
        MicrobatchInstance.of(v_shape(), memory=2, micro_batches=3),
    ),
    "device-load, last block": (
        "device-load",
        MicrobatchInstance.of(
            layout(
                [("F", 3, 0, (0,)), ("F", 2, 0, (1,)), ("S", 1, 0, (1,))], [(0, 1)], 2
            ),
            micro_batches=2,
        ),
    ),
    "memory-latency": ("memory-latency", MicrobatchInstance.of(v_shape(), memory=1)),
    "memory-latency, makespan": (
        "memory-latency",
        MicrobatchInstance.of(v_shape(), memory=1, micro_batches=2),
    ),
    "memory-latency, amounts": ("memory-latency", MicrobatchInstance.of(IN_TWO_PARTS, memory=2)),
    "modulo-tree": ("modulo-tree", MicrobatchInstance.of(v_shape(), memory=1)),
    "memory-latency, unit": (
        "memory-latency",
        MicrobatchInstance.of(
            layout([("F", 2, 2, (0,)), ("S", 3, 0, (1,)), ("B", 1, -2, (0,))],
                      [(0, 1), (1, 2)], 2),
            memory=3,
        ),
    ),
}  # fmt: skip


def is_tiny(instance: MicrobatchInstance) -> bool:
    """Whether all schedules are enumerated in milliseconds, or a fraction of a second."""
    ticks = sum(block.duration for block in instance.layout.blocks)
    return instance.nodes <= 4 and ticks <= 7 and instance.micro_batches <= 3


def optimum(instance: MicrobatchInstance) -> float:
    """Return the least period or makespan; infinite if the memory is too tight for any."""
    longest = sum(block.duration for block in instance.layout.blocks)
    if instance.micro_batches:
        found = optimal_makespan(instance)
        return found if found <= instance.micro_batches * longest else math.inf
    # What is longer has an idle moment on all devices, which can be left out.
    periods = (P for P in range(1, longest + 1) if any(steady_states(instance, P)))
    return next(periods, math.inf)


def solution(instance: MicrobatchInstance) -> Schedule:
    """Return a solution in the right form."""
    starts = np.arange(instance.nodes)[None, :] * 9
    return Schedule(starts, Repetend(99, np.zeros(instance.nodes, dtype=np.int64)))
