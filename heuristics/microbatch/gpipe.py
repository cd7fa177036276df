"""`gpipe`: all forward blocks, then all backward blocks ([GPIPE19])."""

import numpy as np

from boundmark.heuristics.microbatch.device_orders import DeviceOrders, fits
from boundmark.heuristics.microbatch.reporting import report_orders
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


def run(instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report GPipe on groups of as many micro-batches as fit, one group after the other.

    Raises
    ------
    UnsupportedError
        If the number of micro-batches is open, or one does not fit.
    """
    if not instance.micro_batches:
        raise UnsupportedError(
            "GPipe ends with a flush and repeats nothing; expected a number of micro-batches."
        )
    layout = instance.layout
    fitting, too_many = 0, instance.micro_batches + 1
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if fits(instance, order_group(layout, 0, middle)):
            fitting = middle
        else:
            too_many = middle
    if not fitting:
        raise UnsupportedError("one micro-batch holds more than the capacity of a device.")
    orders: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
    for first in range(0, instance.micro_batches, fitting):
        group = min(fitting, instance.micro_batches - first)
        for order, part in zip(orders, order_group(layout, first, group), strict=True):
            order += part
    report_orders(instance, orders, progress)


def order_group(layout: BlockLayout, first: int, count: int) -> DeviceOrders:
    """Return the device orders of a group of micro-batches.

    In each of the two phases, blocks are sorted by the length of the longest path to them plus the
    number of the micro-batch. So every block comes after those that it waits for, on any layout.
    """
    dag = layout.dag
    depth = np.zeros(dag.nodes, dtype=np.int64)
    for i in dag.topological_order.tolist():
        depth[i] = max((depth[producer] + 1 for producer in dag.producers_of(i)), default=0)
    orders = []
    for members in layout.on_device:
        turns = [
            (depth[i] + number, depth[i], i, number) for i in members for number in range(count)
        ]
        phases: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for _, _, i, number in sorted(turns):
            phases[layout.blocks[i].kind != "forward"].append((i, first + number))
        orders.append(phases[0] + phases[1])
    return orders
