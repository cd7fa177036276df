"""`max-load`: the segments with the smallest largest load, evaluated for latency ([TARNAWSKI20]).

[TARNAWSKI20] places operators for throughput: it minimises the largest load of a device, which is
all that it computes, receives and sends for one input. Of its algorithms this is the one on a
linear order (DPL): each device gets a segment of it.
"""

from typing import Any

import numpy as np
from numba import types

from boundmark.heuristics.compiling import compiled, internal
from boundmark.heuristics.placement.arrays import ARRAYS, PlacementArrays
from boundmark.heuristics.placement.incumbent import PlacementIncumbent
from boundmark.heuristics.placement.room import leaving_room
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance


def steps_between_sets(graph: PlacementGraph, *, most_in_all_orders: int = 8) -> IntArray:
    """Return rows (set, device, larger set): the orders in which devices may get segments.

    Parameters
    ----------
    most_in_all_orders
        Largest number of devices for which all orders are tried; more devices get segments from the
        fastest to the slowest.
    """
    span = graph.devices
    if span <= most_in_all_orders:
        rows = [
            (after ^ (1 << device), device, after)
            for after in range(1, 1 << span)
            for device in range(span)
            if after >> device & 1
        ]
    else:
        ticks = np.where(graph.is_supported, graph.duration, graph.duration.max()).sum(axis=0)
        order = np.argsort(ticks, kind="stable").tolist()
        rows = [(at, device, at + 1) for at, device in enumerate(order)]
    return np.array(rows, dtype=np.int64)


@leaving_room
def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the split with the smallest load found by bisection.

    Raises
    ------
    UnsupportedError
        If no split has room.
    """
    graph = instance.graph
    best = PlacementIncumbent(instance, progress)
    others = max(1, graph.devices - 1)
    # Tables have zeros on their diagonals.
    receiving = np.ascontiguousarray((graph.times.sum(axis=1) // others)[graph.size])
    sending = np.ascontiguousarray((graph.times.sum(axis=2) // others)[graph.size])
    steps = steps_between_sets(graph)
    devices, found = np.empty((2, graph.nodes), dtype=np.int64)

    def is_possible(limit: int) -> bool:
        return bool(split_within(best.arrays, receiving, sending, steps, limit, devices))

    most = int(graph.duration.max(axis=1).sum()) + 2 * int(
        graph.times.max(axis=(1, 2), initial=0)[graph.size] @ [len(r) for r in graph.consumers]
        if len(graph.size)
        else 0
    )
    if not is_possible(most):
        raise UnsupportedError("no split into segments was found for which the devices have room.")
    found[:] = devices
    least = -1
    while most - least > 1 and not budget.is_spent():
        middle = (least + most) // 2
        if is_possible(middle):
            most = middle
            found[:] = devices
        else:
            least = middle
    best.evaluate(found)


_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]


@internal(
    [
        types.int64(
            ARRAYS, _TABLE, _TABLE, types.int64, types.int64, types.int64, _ROW, _ROW, _ROW,
            types.int64,
        )
    ]
)  # fmt: skip
def _furthest(
    net: PlacementArrays,
    receiving: IntArray,
    sending: IntArray,
    first: int,
    device: int,
    limit: int,
    position: IntArray,
    unread: IntArray,
    seen: IntArray,
    stamp: int,
) -> int:
    """Return the furthest end of a segment that begins at `first` and has a load within `limit`.

    `unread` and `seen` are buffers: the consumers of a tensor that are not in the segment, and the
    last stamp with which it was received.
    """
    inside, leaving, held = np.int64(0), np.int64(0), np.int64(0)
    furthest = first
    for at in range(first, net.order.size):
        v = net.order[at]
        held += net.memory[v]
        if net.duration[v, device] < 0 or held > net.capacity[device]:
            break
        inside += net.duration[v, device]
        for index in range(net.input_start[v], net.input_start[v + 1]):
            tensor = net.inputs[index]
            if position[net.producer[tensor]] < first:
                if not net.is_shared or seen[tensor] != stamp:
                    inside += receiving[tensor, device]
                    seen[tensor] = stamp
            else:
                unread[tensor] -= 1
                if not net.is_shared or unread[tensor] == 0:
                    leaving -= sending[tensor, device]
        if inside > limit:
            break
        for index in range(net.output_start[v], net.output_start[v + 1]):
            tensor = net.outputs[index]
            unread[tensor] = net.reader_start[tensor + 1] - net.reader_start[tensor]
            leaving += sending[tensor, device] * (1 if net.is_shared else unread[tensor])
        if inside + leaving <= limit:
            furthest = at + 1
    return int(furthest)


@compiled([types.boolean(ARRAYS, _TABLE, _TABLE, _TABLE, types.int64, _ROW)])
def split_within(
    net: PlacementArrays,
    receiving: IntArray,
    sending: IntArray,
    steps: IntArray,
    limit: int,
    devices: IntArray,
) -> bool:
    """Return whether segments with loads of at most `limit` cover the order; fill in devices.

    A segment's load is what its device computes, receives and sends. Segments are as long as they
    can be, which does not find every such cover, as a longer one may send more.

    Parameters
    ----------
    receiving, sending
        Ticks that each device needs to receive, and to send, each tensor, shape (T, D).
    steps
        Rows (from, device, to) between sets of devices, by number; set 0 is empty, the last one is
        `to` of the last row. What leads to a set comes before what leads from it.
    devices
        Filled with the device of each operator, shape (n,), if there is a cover.
    """
    n = net.order.size
    position = np.empty(n, np.int64)
    for at in range(n):
        position[net.order[at]] = at
    unread = np.empty(net.producer.size, np.int64)
    seen = np.full(net.producer.size, -1, np.int64)
    sets = steps[-1, 2] + 1
    reach = np.zeros(sets, np.int64)
    by_step = np.full(sets, -1, np.int64)
    for step in range(steps.shape[0]):
        before, device, after = steps[step]
        end = _furthest(
            net, receiving, sending, reach[before], device, limit, position, unread, seen, step
        )
        if end > reach[after] or by_step[after] < 0:
            reach[after], by_step[after] = end, step
        if end == n:
            while step >= 0:
                before, device, after = steps[step]
                for at in range(reach[before], reach[after]):
                    devices[net.order[at]] = device
                step = by_step[before]
            return True
    return False
