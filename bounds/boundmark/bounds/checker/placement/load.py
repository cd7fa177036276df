"""Checks the kind that looks at all operators at once: assignment-load."""

from typing import Any

from ..budget import spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integers
from .instance import UNSUPPORTED, Instance


def assignment_load(instance: Instance, payload: Any) -> int:
    """Return the weighted mean load of the devices, at least."""
    payload = fields(payload, "the payload", {"weights", "memory_weights"})
    devices = len(instance.capacity)
    weights, memory_weights = (
        integers(payload[name], f"{name} of the payload", 0, LARGEST_AMOUNT)
        for name in ("weights", "memory_weights")
    )
    if not len(weights) == len(memory_weights) == devices or not any(weights):
        raise Rejected("weights of the payload are not one for each device, or all are 0")
    spend(len(instance.memory) * devices)
    demand = 0
    for row, needed in zip(instance.duration, instance.memory, strict=True):
        demand += min(
            weight * ticks + memory_weight * needed
            for weight, memory_weight, ticks, capacity in zip(
                weights, memory_weights, row, instance.capacity, strict=True
            )
            if ticks != UNSUPPORTED and needed <= capacity
        )
    for memory_weight, capacity in zip(memory_weights, instance.capacity, strict=True):
        demand -= memory_weight * capacity
    return max(0, -(-demand // sum(weights)))
