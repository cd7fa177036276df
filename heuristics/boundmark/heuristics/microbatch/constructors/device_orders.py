"""What each device runs in turn, and when at the earliest."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance

# For each device, its (block, micro-batch) pairs in turn; a block on several devices is in the
# order of each of them.
DeviceOrders: TypeAlias = Sequence[Sequence[tuple[int, int]]]


def earliest_starts(layout: BlockLayout, orders: DeviceOrders, micro_batches: int) -> IntArray:
    """Return the earliest start times, shape (N, K), with which the devices keep to their orders.

    Raises
    ------
    UnsupportedError
        If devices would wait for each other for ever.
    """
    dag, blocks = layout.dag, layout.blocks
    producers = [dag.producers_of(i).tolist() for i in range(dag.nodes)]
    consumers = [dag.consumers_of(i).tolist() for i in range(dag.nodes)]
    starts = [[0] * dag.nodes for _ in range(micro_batches)]
    ends = [[-1] * dag.nodes for _ in range(micro_batches)]
    free = [0] * layout.devices
    position = [0] * layout.devices

    def next_on(device: int) -> tuple[int, int] | None:
        order, at = orders[device], position[device]
        return order[at] if at < len(order) else None

    waiting = list(range(layout.devices))
    while waiting:
        device = waiting.pop()
        while (turn := next_on(device)) is not None:
            block, number = turn
            together = blocks[block].devices
            inputs = [ends[number][producer] for producer in producers[block]]
            if -1 in inputs or any(next_on(other) != turn for other in together):
                break
            start = max(*inputs, *(free[other] for other in together), 0)
            starts[number][block] = start
            ends[number][block] = start + blocks[block].duration
            for other in together:
                free[other] = ends[number][block]
                position[other] += 1
            waiting += together
            for consumer in consumers[block]:
                waiting += blocks[consumer].devices
    for device in range(layout.devices):
        if (turn := next_on(device)) is not None:
            raise UnsupportedError(
                f"with this order, device {device} waits for ever to run block "
                f"{blocks[turn[0]].name!r} of micro-batch {turn[1]}."
            )
    return frozen(starts)


def peak_memory(layout: BlockLayout, order: Sequence[tuple[int, int]]) -> int:
    """Return the most that a device holds which runs blocks in this order."""
    changes = [layout.blocks[block].memory for block, _ in order]
    return max(0, int(np.cumsum(changes).max())) if changes else 0


def fits(instance: MicrobatchInstance, orders: DeviceOrders) -> bool:
    """Whether no device holds more than its capacity."""
    return all(
        peak_memory(instance.layout, order) <= capacity
        for order, capacity in zip(orders, instance.capacity, strict=True)
    )
