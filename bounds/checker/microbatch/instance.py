"""Reads instances of `microbatch`."""

import itertools
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..graph import topological_order
from ..values import Rejected, fields, number, numbers, pairs, quoted

LARGEST_AMOUNT = 2**32
LARGEST_CAPACITY = 2**53 - 1
LARGEST_TOTAL = 2**53
MOST_MICRO_BATCHES = 2**16
MOST_BLOCKS = 2**12

# What the checks of a schedule make of each device of a block.
ENTRY_BYTES = 500

BLOCK_KINDS = ("forward", "backward", "weight")


class Instance(NamedTuple):
    """An instance that has passed all checks; edges are pairs (block, block that needs it)."""

    micro_batches: int
    capacity: list[int]
    duration: list[int]
    memory: list[int]
    device_sets: list[list[int]]
    kinds: list[str]
    edges: list[tuple[int, int]]

    @property
    def occupied(self) -> int:
        """The sum of the numbers of devices that the blocks occupy."""
        return sum(map(len, self.device_sets))


def read_instance(document: dict[str, Any]) -> Instance:
    """Return an instance; raise `Rejected` if it is malformed, or does not release its memory."""
    document = fields(document, "the instance", set(Instance._fields))
    capacity = numbers(document["capacity"], "capacity of the instance", 0, LARGEST_CAPACITY)
    duration = numbers(document["duration"], "duration of the instance", 1, LARGEST_AMOUNT)
    memory = numbers(document["memory"], "memory of the instance", -LARGEST_AMOUNT, LARGEST_AMOUNT)
    kinds, device_sets = document["kinds"], document["device_sets"]
    if type(kinds) is not list:
        raise Rejected(f"kinds of the instance is not a list, but {quoted(kinds)}")
    for kind in kinds:
        if kind not in BLOCK_KINDS:
            expected = ", ".join(BLOCK_KINDS)
            raise Rejected(f"kinds of the instance are not from {expected}, but {quoted(kind)}")
    if type(device_sets) is not list:
        raise Rejected(f"device_sets of the instance is not a list, but {quoted(device_sets)}")
    blocks, devices = len(duration), len(capacity)
    if not 1 <= blocks <= MOST_BLOCKS or not 1 <= devices <= MOST_BLOCKS:
        raise Rejected(f"the instance does not have 1 to {MOST_BLOCKS} blocks and devices")
    if {len(memory), len(kinds), len(device_sets)} != {blocks}:
        raise Rejected("duration, memory, kinds and device_sets are not of one length")
    left = [0] * devices
    device_sets = [
        numbers(members, "device_sets of the instance", 0, devices - 1) for members in device_sets
    ]
    hold(ENTRY_BYTES * sum(map(len, device_sets)))
    for change, members in zip(memory, device_sets, strict=True):
        if not members or any(d >= e for d, e in itertools.pairwise(members)):
            raise Rejected("the devices of a block are not ascending, or there are none")
        for device in members:
            left[device] += change
            if change > capacity[device]:
                raise Rejected("a block needs more memory than its device has")
    if any(left):
        raise Rejected("a micro-batch does not release the memory that it allocates")
    edges = pairs(document["edges"], "edges of the instance", 0, blocks - 1)
    hold(ENTRY_BYTES * (sum(map(len, device_sets)) + len(edges)))
    spend(4 * len(edges))
    if topological_order(edges) is None:
        raise Rejected("the instance's blocks wait for each other in a cycle")
    micro_batches = number(
        document["micro_batches"], "micro_batches of the instance", 0, MOST_MICRO_BATCHES
    )
    if sum(duration) * max(1, micro_batches) > LARGEST_TOTAL:
        raise Rejected("the blocks of all micro-batches of the instance take more than 2^53 ticks")
    return Instance(
        micro_batches,
        capacity,
        duration,
        memory,
        device_sets,
        kinds,
        edges,
    )
