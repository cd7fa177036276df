"""List scheduling of a placement: what runs and moves when, once devices are chosen.

Time goes from event to event. Whenever a device is idle, it starts the most urgent operator whose
inputs are there; whenever a sender and a receiver are both free, the most urgent tensor that waits
between any two such devices is sent. What takes no time happens as soon as it can, and occupies
nothing. The urgency of an operator is its priority, larger first, then the smaller number; that of
a transfer is the largest among the consumers that it serves, then the earlier tensor, then the
consumer that comes first. Nothing waits on purpose, and nothing is interrupted.
"""

import numpy as np
from numba import types

from boundmark.heuristics.placement.kernels.compiling import compiled, internal
from boundmark.heuristics.placement.kernels.network import NETWORK, Network
from boundmark.problems.arrays import IntArray

_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]
_NEVER = 2**62


@internal([types.void(_ROW, types.int64, types.int64, types.int64, _ROW)])
def _push(heap: IntArray, first: int, size: int, item: int, urgency: IntArray) -> None:
    at = size
    while at > 0:
        parent = (at - 1) // 2
        other = heap[first + parent]
        if urgency[other] > urgency[item] or (urgency[other] == urgency[item] and other < item):
            break
        heap[first + at] = other
        at = parent
    heap[first + at] = item


@internal([types.int64(_ROW, types.int64, types.int64, _ROW)])
def _pop(heap: IntArray, first: int, size: int, urgency: IntArray) -> int:
    top = heap[first]
    item = heap[first + size - 1]
    left = size - 1
    at = 0
    while 2 * at + 1 < left:
        child = 2 * at + 1
        if child + 1 < left:
            a, b = heap[first + child], heap[first + child + 1]
            if urgency[b] > urgency[a] or (urgency[b] == urgency[a] and b < a):
                child += 1
        other = heap[first + child]
        if urgency[item] > urgency[other] or (urgency[item] == urgency[other] and item < other):
            break
        heap[first + at] = other
        at = child
    heap[first + at] = item
    return int(top)


@internal([types.int64(NETWORK, _ROW, _ROW, _ROW, _ROW, _TABLE)])
def _needed_transfers(
    net: Network,
    devices: IntArray,
    priority: IntArray,
    first_of: IntArray,
    urgency: IntArray,
    rows: IntArray,
) -> int:
    """Fill in (tensor, receiver, source, target, ticks, start) per transfer; return how many."""
    seen = np.full(net.capacity.size, -1, np.int64)
    count = 0
    for tensor in range(net.producer.size):
        first_of[tensor] = count
        source = devices[net.producer[tensor]]
        for at in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
            reader = net.readers[at]
            target = devices[reader]
            if target == source:
                continue
            if net.is_shared and seen[target] >= first_of[tensor]:
                known = seen[target]
                urgency[known] = max(urgency[known], priority[reader])
                continue
            seen[target] = count
            urgency[count] = priority[reader]
            rows[count, 0] = tensor
            rows[count, 1] = target if net.is_shared else reader
            rows[count, 2] = source
            rows[count, 3] = target
            rows[count, 4] = net.times[net.size[tensor], source, target]
            count += 1
    first_of[net.producer.size] = count
    return count


@compiled([_ROW(NETWORK, _ROW)])
def time_to_end(net: Network, devices: IntArray) -> IntArray:
    """Return the longest path from the start of each operator to the end, shape (n,).

    It consists of durations and transfers with the given devices, and is the default priority.
    """
    longest = np.zeros(net.order.size, np.int64)
    for at in range(net.order.size - 1, -1, -1):
        v = net.order[at]
        after = np.int64(0)
        for out in range(net.output_start[v], net.output_start[v + 1]):
            tensor = net.outputs[out]
            for index in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
                reader = net.readers[index]
                ticks = net.times[net.size[tensor], devices[v], devices[reader]]
                after = max(after, ticks + longest[reader])
        longest[v] = after + net.duration[v, devices[v]]
    return longest


@compiled([types.int64(NETWORK, _ROW, _ROW, _ROW, _TABLE)])
def simulate(
    net: Network, devices: IntArray, priority: IntArray, starts: IntArray, moves: IntArray
) -> int:
    """Return the number of transfers of the schedule, and fill it in.

    Parameters
    ----------
    devices
        Of each operator one that supports it, shape (n,).
    priority
        Of each operator, shape (n,).
    starts
        Gets the start of each operator, shape (n,).
    moves
        Gets the rows (tensor, receiver, source, target, ticks, start) of the transfers, by tensor
        and then in order of the first consumer served. There have to be as many rows as consumers
        of all tensors.
    """
    n, span, tensors = net.order.size, net.capacity.size, net.producer.size
    first_of = np.empty(tensors + 1, np.int64)
    urgency = np.empty(net.readers.size, np.int64)
    count = _needed_transfers(net, devices, priority, first_of, urgency, moves)

    # A heap per device and one per pair of devices, each with a place for whatever it may get.
    op_first, op_size = np.zeros(span + 1, np.int64), np.zeros(span, np.int64)
    for v in range(n):
        op_first[devices[v] + 1] += 1
    op_first = np.cumsum(op_first)
    move_first, move_size = np.zeros(span * span + 1, np.int64), np.zeros(span * span, np.int64)
    for move in range(count):
        move_first[moves[move, 2] * span + moves[move, 3] + 1] += 1
    move_first = np.cumsum(move_first)
    op_heap, move_heap = np.empty(n, np.int64), np.empty(count, np.int64)

    missing = np.empty(n, np.int64)
    # What has happened and not been dealt with: operators that ended, n + transfers that arrived.
    stack = np.empty(n + count, np.int64)
    ready = np.empty(n, np.int64)
    depth, found = 0, 0
    for v in range(n):
        missing[v] = net.input_start[v + 1] - net.input_start[v]
        if missing[v] == 0:
            ready[found] = v
            found += 1
    running, run_end = np.full(span, -1, np.int64), np.full(span, _NEVER, np.int64)
    sending, send_end = np.full(span, -1, np.int64), np.full(span, _NEVER, np.int64)
    is_receiving = np.zeros(span, np.int64)
    waiting = 0
    now = np.int64(0)
    while True:
        while depth > 0 or found > 0:
            while found > 0:
                found -= 1
                v = ready[found]
                d = devices[v]
                if net.duration[v, d] == 0:
                    starts[v] = now
                    stack[depth] = v
                    depth += 1
                else:
                    _push(op_heap, op_first[d], op_size[d], v, priority)
                    op_size[d] += 1
            if depth == 0:
                break
            depth -= 1
            item = stack[depth]
            if item < n:
                for out in range(net.output_start[item], net.output_start[item + 1]):
                    tensor = net.outputs[out]
                    for at in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
                        reader = net.readers[at]
                        if devices[reader] == devices[item]:
                            missing[reader] -= 1
                            if missing[reader] == 0:
                                ready[found] = reader
                                found += 1
                    for move in range(first_of[tensor], first_of[tensor + 1]):
                        if moves[move, 4] == 0:
                            moves[move, 5] = now
                            stack[depth] = n + move
                            depth += 1
                        else:
                            pair = moves[move, 2] * span + moves[move, 3]
                            _push(move_heap, move_first[pair], move_size[pair], move, urgency)
                            move_size[pair] += 1
                            waiting += 1
            else:
                move = item - n
                tensor = moves[move, 0]
                for at in range(net.reader_start[tensor], net.reader_start[tensor + 1]):
                    reader = net.readers[at]
                    is_served = (
                        devices[reader] == moves[move, 1]
                        if net.is_shared
                        else reader == moves[move, 1]
                    )
                    if is_served:
                        missing[reader] -= 1
                        if missing[reader] == 0:
                            ready[found] = reader
                            found += 1

        for d in range(span):
            if running[d] < 0 and op_size[d] > 0:
                v = _pop(op_heap, op_first[d], op_size[d], priority)
                op_size[d] -= 1
                starts[v] = now
                running[d] = v
                run_end[d] = now + net.duration[v, d]
        while waiting > 0:
            best, best_pair = np.int64(-1), 0
            for source in range(span):
                if sending[source] >= 0:
                    continue
                for target in range(span):
                    pair = source * span + target
                    if move_size[pair] == 0 or is_receiving[target]:
                        continue
                    top = move_heap[move_first[pair]]
                    if best < 0 or (
                        urgency[top] > urgency[best]
                        or (urgency[top] == urgency[best] and top < best)
                    ):
                        best, best_pair = top, pair
            if best < 0:
                break
            _pop(move_heap, move_first[best_pair], move_size[best_pair], urgency)
            move_size[best_pair] -= 1
            waiting -= 1
            source, target = moves[best, 2], moves[best, 3]
            moves[best, 5] = now
            sending[source] = best
            send_end[source] = now + moves[best, 4]
            is_receiving[target] = 1

        now = min(run_end.min(), send_end.min())
        if now == _NEVER:
            return count
        for d in range(span):
            if run_end[d] == now:
                stack[depth] = running[d]
                depth += 1
                running[d], run_end[d] = -1, _NEVER
            if send_end[d] == now:
                stack[depth] = n + sending[d]
                depth += 1
                is_receiving[moves[sending[d], 3]] = 0
                sending[d], send_end[d] = -1, _NEVER
