"""Checks the kind that looks at computation only: slice-compute."""

from typing import Any

from ..budget import spend
from ..values import fields
from .instance import Instance


def slice_compute(instance: Instance, payload: Any) -> int:
    """Return the sum of what the best split of each operator computes."""
    fields(payload, "the payload", set())
    return sum(best_split(instance, operator) for operator in range(len(instance.length)))


def best_split(instance: Instance, operator: int) -> int:
    """Return the least ticks in which the devices can compute an operator together."""
    work, length = instance.work[operator], instance.length[operator]
    spend(2 + len(work))
    if not all(work):
        return 0
    low, high = -1, min(map(sum, zip(work, instance.launch, strict=True)))
    spend(high.bit_length() * len(work))
    while low + 1 < high:
        ticks = (low + high) // 2
        done = sum(
            max(0, ticks - launch) * length // one
            for one, launch in zip(work, instance.launch, strict=True)
        )
        if done >= length:
            high = ticks
        else:
            low = ticks
    return high
