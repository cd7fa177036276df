"""The order in which each device runs its blocks, and the start times and memory that follow."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance
from boundmark.problems.microbatch.earliest_starts import Job, earliest_starts

# For each device, (block, micro-batch) pairs in the order in which it runs them; a block on several
# devices is in the order of each of them.
DeviceOrders: TypeAlias = Sequence[Sequence[tuple[int, int]]]


def find_earliest_starts(layout: BlockLayout, orders: DeviceOrders, micro_batches: int) -> IntArray:
    """Return the earliest start times, shape (N, K), if each device keeps to its order.

    Raises
    ------
    UnsupportedError
        If devices would wait for each other for ever.
    """
    starts = np.zeros((micro_batches, layout.dag.nodes), dtype=np.int64)
    for job, start in earliest_starts(layout, _find_sequence(layout, orders)).items():
        starts[job] = start
    return frozen(starts)


def _find_sequence(layout: BlockLayout, orders: DeviceOrders) -> list[Job]:
    """Return one sequence of all jobs that agrees with all orders and dependencies.

    Raises
    ------
    UnsupportedError
        If there is none.
    """
    producers = [layout.dag.producers_of(i).tolist() for i in range(layout.dag.nodes)]
    consumers = [layout.dag.consumers_of(i).tolist() for i in range(layout.dag.nodes)]
    sequence: dict[Job, None] = {}
    position = [0] * layout.devices

    def next_on(device: int) -> tuple[int, int] | None:
        order, at = orders[device], position[device]
        return order[at] if at < len(order) else None

    waiting = list(range(layout.devices))
    while waiting:
        device = waiting.pop()
        while (turn := next_on(device)) is not None:
            block, number = turn
            together = layout.blocks[block].devices
            has_inputs = all((number, producer) in sequence for producer in producers[block])
            if not has_inputs or any(next_on(other) != turn for other in together):
                break
            sequence[number, block] = None
            for other in together:
                position[other] += 1
            waiting += together
            for consumer in consumers[block]:
                waiting += layout.blocks[consumer].devices
    for device in range(layout.devices):
        if (turn := next_on(device)) is not None:
            raise UnsupportedError(
                f"with this order, device {device} waits for ever to run block "
                f"{layout.blocks[turn[0]].name!r} of micro-batch {turn[1]}."
            )
    return list(sequence)


def peak_memory(layout: BlockLayout, order: Sequence[tuple[int, int]]) -> int:
    """Return the most memory that a device holds if it runs blocks in this order."""
    changes = [layout.blocks[block].memory for block, _ in order]
    return max(0, int(np.cumsum(changes).max())) if changes else 0


def fits(instance: MicrobatchInstance, orders: DeviceOrders) -> bool:
    """Whether no device holds more than its capacity."""
    return all(
        peak_memory(instance.layout, order) <= capacity
        for order, capacity in zip(orders, instance.capacity, strict=True)
    )
