"""Checks the kinds that look at one device: device-load, memory-latency."""

import math
from collections import defaultdict
from typing import Any

from ..budget import spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .paths import Paths


def device_load(instance: Instance, payload: Any) -> int:
    """Return the bound that follows from the work of some blocks of a device."""
    payload = fields(payload, "the payload", {"device", "blocks"})
    device = integer(payload["device"], "device of the payload", 0, len(instance.capacity) - 1)
    blocks = integers(payload["blocks"], "blocks of the payload", 0, len(instance.duration) - 1)
    if not blocks or len(set(blocks)) != len(blocks):
        raise Rejected("blocks of the payload are repeated, or there are none")
    if any(device not in instance.device_sets[block] for block in blocks):
        raise Rejected("a block of the payload is not on the device")
    spend(sum(len(instance.device_sets[block]) for block in blocks) // 8 + len(blocks))
    work = sum(instance.duration[block] for block in blocks)
    if not instance.micro_batches:
        return work
    paths = Paths(instance)
    head, tail = paths.heads(), paths.tails()
    return (
        min(head[block] for block in blocks)
        + instance.micro_batches * work
        + min(tail[block] for block in blocks)
    )


def memory_latency(instance: Instance, payload: Any) -> int:
    """Return the bound that follows from how long a device has to hold its memory."""
    payload = fields(payload, "the payload", {"device", "pairs"})
    device = integer(payload["device"], "device of the payload", 0, len(instance.capacity) - 1)
    paths = Paths(instance)
    pairs = read_pairs(instance, paths, device, payload["pairs"])
    changing = [i for i, change in enumerate(instance.memory) if change]
    changing = [i for i in changing if device in instance.device_sets[i]]
    unit = math.gcd(*(instance.memory[i] for i in changing))
    if not unit:
        raise Rejected("the device of the payload holds nothing")
    capacity = instance.capacity[device] // unit * unit
    held = sum(amount * (path + instance.duration[last]) for _, last, amount, path in pairs)
    if not instance.micro_batches:
        return -(-held // capacity)
    head, tail = paths.heads(), paths.tails()
    return (
        min(head[block] for block in changing)
        - (-instance.micro_batches * held // capacity)
        + min(tail[block] for block in changing)
    )


def read_pairs(
    instance: Instance, paths: Paths, device: int, value: Any
) -> list[tuple[int, int, int, int]]:
    """Return all pairs of a device as (allocation, release, amount, longest path between them)."""
    if type(value) is not list or not all(type(pair) is list and len(pair) == 3 for pair in value):
        raise Rejected("pairs of the payload is not a list of triples")
    spend(len(instance.duration) + instance.occupied)
    left = {
        block: change
        for block, change in enumerate(instance.memory)
        if change and device in instance.device_sets[block]
    }
    waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)
    spend(4 * len(value))
    for entry in value:
        first, last = integers(entry[:2], "block of a pair", 0, len(instance.duration) - 1)
        amount = integer(entry[2], "amount of a pair", 1, LARGEST_AMOUNT)
        if not left.get(first, 0) >= amount <= -left.get(last, 0):
            raise Rejected("a pair of the payload is not an allocation and a release on the device")
        left[first] -= amount
        left[last] += amount
        waiting[first].append((last, amount))
    if any(left.values()):
        raise Rejected("pairs of the payload are not all that the device allocates and releases")
    pairs = []
    for first, releases in waiting.items():
        after = paths.from_block(first)
        for last, amount in releases:
            path = after[last]
            if path is None:
                raise Rejected(
                    "a release in a pair of the payload does not wait for the allocation"
                )
            pairs.append((first, last, amount, path))
    return pairs
