"""Splits a topological order into one segment per device whose load is small."""

import numpy as np
from numba import types

from boundmark.heuristics.placement.kernels.compiling import compiled, internal
from boundmark.heuristics.placement.kernels.network import NETWORK, Network
from boundmark.problems.arrays import IntArray

_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]


@internal(
    [
        types.int64(
            NETWORK, _TABLE, _TABLE, types.int64, types.int64, types.int64, _ROW, _ROW, _ROW,
            types.int64,
        )
    ]
)  # fmt: skip
def _furthest(
    net: Network,
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
    """Return the furthest end of a segment from `first` on a device, its load within `limit`.

    `unread` and `seen` are room for counting: consumers of a tensor that are not in the segment,
    and the last stamp with which it was received.
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


@compiled([types.boolean(NETWORK, _TABLE, _TABLE, _TABLE, types.int64, _ROW)])
def split_within(
    net: Network,
    receiving: IntArray,
    sending: IntArray,
    steps: IntArray,
    limit: int,
    devices: IntArray,
) -> bool:
    """Whether segments with loads of at most `limit` cover the order; give operators their devices.

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
        Gets the device of each operator, shape (n,), if there is a cover.
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
