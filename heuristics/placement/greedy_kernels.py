"""Compiled list scheduling: place operators one after another where they start or end first.

m-ETF, m-SCT, GETF, HEFT and PEFT build on these kernels. Each keeps a clock per device, sender and
receiver, and only appends to it: `simulation.in_order`, but that an operator waits for its device
even if it takes no time. The inputs that are elsewhere are sent in the order of their numbers.
"""

import numpy as np
from numba import types

from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.placement.compiled import ARRAYS, PlacementArrays

_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]
_TWO_ROWS = types.UniTuple(_ROW, 2)  # type: ignore[no-untyped-call]
_NEVER = 2**62


@internal(
    [types.int64(ARRAYS, types.int64, types.int64, _ROW, _ROW, _TABLE, _TABLE, types.boolean)]
)
def _inputs_there(
    net: PlacementArrays,
    v: int,
    device: int,
    devices: IntArray,
    end: IntArray,
    ports: IntArray,
    arrived: IntArray,
    is_final: bool,
) -> int:
    """Return when all inputs of an operator can be on a device; reserve the ports if final.

    ``ports[0]`` and ``ports[1]`` say when senders and receivers are free; the other two rows are
    buffers for trials. ``arrived`` says when a tensor was moved to a device, -1 if it was not.
    """
    senders, receivers = (0, 1) if is_final else (2, 3)
    if not is_final:
        ports[2] = ports[0]
        ports[3] = ports[1]
    there = np.int64(0)
    for at in range(net.input_start[v], net.input_start[v + 1]):
        tensor = net.inputs[at]
        u = net.producer[tensor]
        source = devices[u]
        arrival = end[u]
        if source != device:
            if net.is_shared and arrived[tensor, device] >= 0:
                arrival = arrived[tensor, device]
            else:
                ticks = net.times[net.size[tensor], source, device]
                if ticks > 0:
                    begin = max(end[u], ports[senders, source], ports[receivers, device])
                    arrival = begin + ticks
                    ports[senders, source] = arrival
                    ports[receivers, device] = arrival
                if is_final:
                    arrived[tensor, device] = arrival
        there = max(there, arrival)
    return int(there)


@compiled([_TWO_ROWS(ARRAYS, _ROW, _TABLE)])
def earliest_finish(
    net: PlacementArrays, sequence: IntArray, handicap: IntArray
) -> tuple[IntArray, IntArray]:
    """Place each operator of a topological sequence where it ends first; return devices and starts.

    Both are -1 from the first operator on for which no device has room. A handicap, shape (n, D),
    is added to an operator's end on a device when devices are compared.
    """
    n, span = net.order.size, net.capacity.size
    devices, starts = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    end, free, room = np.zeros(n, np.int64), np.zeros(span, np.int64), net.capacity.copy()
    ports = np.zeros((4, span), np.int64)
    arrived = np.full((net.producer.size, span), -1, np.int64)
    for v in sequence:
        best, best_end, least = -1, _NEVER, _NEVER
        for d in range(span):
            if net.duration[v, d] < 0 or net.memory[v] > room[d]:
                continue
            there = _inputs_there(net, v, d, devices, end, ports, arrived, False)
            ends = max(there, free[d]) + net.duration[v, d]
            if ends + handicap[v, d] < least:
                best, best_end, least = d, ends, ends + handicap[v, d]
        if best < 0:
            break
        _inputs_there(net, v, best, devices, end, ports, arrived, True)
        devices[v], starts[v] = best, best_end - net.duration[v, best]
        end[v], free[best] = best_end, best_end
        room[best] -= net.memory[v]
    return devices, starts


@compiled([_TABLE(ARRAYS, _TABLE)])
def least_rests(net: PlacementArrays, charge: IntArray) -> IntArray:
    """Return the optimistic ticks from the end of each operator on each device to the end, (n, D).

    The longest path after the operator, with all its operators on the devices best for the path. An
    operator costs its `charge`, shape (n, D), beside its duration.
    """
    n, span = net.duration.shape
    rest = np.zeros((n, span), np.int64)
    # The same from the start of an operator; where it is not supported, more than all others.
    whole = np.empty((n, span), np.int64)
    for at in range(n - 1, -1, -1):
        v = net.order[at]
        for out in range(net.output_start[v], net.output_start[v + 1]):
            tensor = net.outputs[out]
            for index in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
                reader = net.readers[index]
                for d in range(span):
                    least = np.int64(_NEVER)
                    for e in range(span):
                        least = min(least, net.times[net.size[tensor], d, e] + whole[reader, e])
                    rest[v, d] = max(rest[v, d], least)
        for d in range(span):
            taken = net.duration[v, d] + charge[v, d] + rest[v, d]
            whole[v, d] = taken if net.duration[v, d] >= 0 else _NEVER >> 1
    return rest


@compiled([_TWO_ROWS(ARRAYS, _ROW)])
def earliest_start(net: PlacementArrays, favourite: IntArray) -> tuple[IntArray, IntArray]:
    """Place the ready operator on the device that can start first, in turn; as `earliest_finish`.

    While the favourite child (-1 for none) of a device's last operator is ready, not placed, and
    can start nowhere earlier than there, the device takes nothing that would end after the child's
    start. Of equally early pairs, a favourite child on the device that waits for it comes first,
    then the shorter duration, then the smaller numbers. What fits nowhere in the end has -1.
    """
    n, span = net.order.size, net.capacity.size
    devices, starts = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    end, free, room = np.zeros(n, np.int64), np.zeros(span, np.int64), net.capacity.copy()
    ports = np.zeros((4, span), np.int64)
    arrived = np.full((net.producer.size, span), -1, np.int64)
    missing = net.input_start[1:] - net.input_start[:-1]
    ready, found = np.empty(n, np.int64), 0
    at = np.full(n, -1, np.int64)
    for v in range(n):
        if missing[v] == 0:
            ready[found], at[v] = v, found
            found += 1
    last = np.full(span, -1, np.int64)
    # Earliest start of each ready operator on each device, in the order of `ready`.
    begin = np.empty((n, span), np.int64)
    while found > 0:
        for index in range(found):
            v = ready[index]
            for d in range(span):
                begin[index, d] = _NEVER
                if net.duration[v, d] >= 0 and net.memory[v] <= room[d]:
                    there = _inputs_there(net, v, d, devices, end, ports, arrived, False)
                    begin[index, d] = max(there, free[d])
        best, best_device, best_start, best_rank = -1, -1, _NEVER, _NEVER
        for d in range(span):
            child = favourite[last[d]] if last[d] >= 0 else -1
            until = np.int64(_NEVER)
            if child >= 0 and at[child] >= 0:
                child_start = begin[at[child], d]
                if child_start == begin[at[child]].min():
                    until = child_start
            for index in range(found):
                v = ready[index]
                start = begin[index, d]
                is_child = until < _NEVER and v == child
                if start == _NEVER:
                    continue
                if not is_child and until < _NEVER and start + net.duration[v, d] > until:
                    continue
                # A favourite child counts as shorter than anything.
                rank = -1 if is_child else net.duration[v, d]
                if start < best_start or (
                    start == best_start and (rank < best_rank or (rank == best_rank and v < best))
                ):
                    best, best_device, best_start, best_rank = v, d, start, rank
        if best < 0:
            break
        v, d = best, best_device
        start = max(_inputs_there(net, v, d, devices, end, ports, arrived, True), free[d])
        devices[v], starts[v] = d, start
        end[v] = start + net.duration[v, d]
        free[d], last[d] = end[v], v
        room[d] -= net.memory[v]
        found -= 1
        moved = ready[found]
        ready[at[v]], at[moved] = moved, at[v]
        at[v] = -1
        for out in range(net.output_start[v], net.output_start[v + 1]):
            tensor = net.outputs[out]
            for index in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
                reader = net.readers[index]
                missing[reader] -= 1
                if missing[reader] == 0:
                    ready[found], at[reader] = reader, found
                    found += 1
    return devices, starts
