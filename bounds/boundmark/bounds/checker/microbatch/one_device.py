"""Kinds that look at one device: device-load, memory-latency."""

import math
from typing import Any

from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .paths import from_block, heads, tails


def device_load(instance: Instance, payload: Any) -> int:
    """Return what the work of some blocks of a device proves."""
    payload = fields(payload, "the payload", {"device", "blocks"})
    device = integer(payload["device"], "device of the payload", 0, len(instance.capacity) - 1)
    blocks = integers(payload["blocks"], "blocks of the payload", 0, len(instance.duration) - 1)
    if not blocks or len(set(blocks)) != len(blocks):
        raise Rejected("blocks of the payload are repeated, or there are none")
    if any(device not in instance.device_sets[block] for block in blocks):
        raise Rejected("a block of the payload is not on the device")
    work = sum(instance.duration[block] for block in blocks)
    if not instance.micro_batches:
        return work
    head, tail = heads(instance), tails(instance)
    return (
        min(head[block] for block in blocks)
        + instance.micro_batches * work
        + min(tail[block] for block in blocks)
    )


def memory_latency(instance: Instance, payload: Any) -> int:
    """Return what the time for which a device has to hold memory proves."""
    payload = fields(payload, "the payload", {"device", "pairs"})
    device = integer(payload["device"], "device of the payload", 0, len(instance.capacity) - 1)
    left = {
        block: change
        for block, change in enumerate(instance.memory)
        if change and device in instance.device_sets[block]
    }
    unit = math.gcd(*left.values())
    capacity = instance.capacity[device] // unit * unit if unit else 0
    if not capacity:
        raise Rejected("the device of the payload holds nothing")
    held = 0
    after: dict[int, list[int | None]] = {}
    for first, last, amount in _pairs(payload["pairs"], len(instance.duration)):
        if not left.get(first, 0) >= amount <= -left.get(last, 0):
            raise Rejected("a pair of the payload is not an allocation and a release on the device")
        if first not in after:
            after[first] = from_block(instance, first)
        latency = after[first][last]
        if latency is None:
            raise Rejected("a release in a pair of the payload does not wait for the allocation")
        left[first] -= amount
        left[last] += amount
        held += amount * (latency + instance.duration[last])
    if any(left.values()):
        raise Rejected("pairs of the payload are not all that the device allocates and releases")
    if not instance.micro_batches:
        return -(-held // capacity)
    head, tail = heads(instance), tails(instance)
    return (
        min(head[block] for block in left)
        - (-instance.micro_batches * held // capacity)
        + min(tail[block] for block in left)
    )


def _pairs(value: Any, blocks: int) -> list[tuple[int, int, int]]:
    if type(value) is not list or not all(type(pair) is list and len(pair) == 3 for pair in value):
        raise Rejected("pairs of the payload is not a list of triples")
    return [
        (
            integer(first, "block of a pair", 0, blocks - 1),
            integer(last, "block of a pair", 0, blocks - 1),
            integer(amount, "amount of a pair", 1, LARGEST_AMOUNT),
        )
        for first, last, amount in value
    ]
