"""Topological orders from node priorities ([MTPP24], Section 4.2)."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, internal
from boundmark.problems.dag import Dag

Priorities: TypeAlias = npt.NDArray[np.float64]


def topological_order(dag: Dag, priorities: Priorities) -> IntArray:
    """Return the order that always takes the ready node of highest priority.

    Of equal priorities the smaller node number comes first. Every topological order comes from
    some priorities, so a search over priorities misses none.
    """
    order: IntArray = order_by_priority(
        dag.consumer_start, dag.targets, dag.producer_start, priorities
    )
    return order


FloatArray = npt.NDArray[np.float64]

_FLOATS = types.Array(types.float64, 1, "C", readonly=True)


@internal([types.boolean(_FLOATS, types.int64, types.int64)])
def _precedes(priority: FloatArray, first: int, second: int) -> bool:
    if priority[first] != priority[second]:
        return bool(priority[first] > priority[second])
    return first < second


@internal([types.int64(types.int64[::1], types.int64, _FLOATS, types.int64)])
def _push(heap: IntArray, size: int, priority: FloatArray, node: int) -> int:
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if not _precedes(priority, node, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = node
    return size + 1


@internal([types.int64(types.int64[::1], types.int64, _FLOATS)])
def _pop(heap: IntArray, size: int, priority: FloatArray) -> int:
    size -= 1
    node = heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _precedes(priority, heap[child + 1], heap[child]):
            child += 1
        if not _precedes(priority, heap[child], node):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = node
    return size


@compiled([types.int64[::1](INTEGERS, INTEGERS, INTEGERS, _FLOATS)])
def order_by_priority(
    consumer_start: IntArray, consumers: IntArray, producer_start: IntArray, priority: FloatArray
) -> IntArray:
    """Return the topological order that always takes the ready node of highest priority.

    Of equal priorities the smaller node number comes first, so the order is unique. Priorities
    must not be NaN. Time O(m + n log n).
    """
    nodes = len(priority)
    missing = np.empty(nodes, np.int64)
    order = np.empty(nodes, np.int64)
    heap = np.empty(nodes, np.int64)
    size = 0
    for node in range(nodes):
        missing[node] = producer_start[node + 1] - producer_start[node]
        if missing[node] == 0:
            size = _push(heap, size, priority, node)
    for position in range(nodes):
        node = heap[0]
        order[position] = node
        size = _pop(heap, size, priority)
        for edge in range(consumer_start[node], consumer_start[node + 1]):
            consumer = consumers[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                size = _push(heap, size, priority, consumer)
    return order
