"""List scheduling of a placement: what runs and moves when, once devices are chosen.

Time goes from event to event. Whenever a device is idle, it starts the most urgent operator whose
inputs are there; whenever a sender and a receiver are both free, the most urgent tensor that waits
between any two such devices is sent. What takes no time happens as soon as it can, and occupies
nothing. The urgency of an operator is its priority, larger first, then the smaller number; that of
a transfer is the largest among the consumers that it serves, then the earlier tensor, then the
consumer that comes first. Nothing waits on purpose, and nothing is interrupted.

Which of two things is more urgent, whether two operators share a device, and what happens next can
hardly be predicted, and a wrong guess costs a processor as much as ten instructions. So an urgency
and a number are one integer, of which heaps keep nothing else, and decisions are sums and maxima
where they can be.
"""

import numpy as np
from numba import types

from boundmark.heuristics.placement.kernels.compiling import compiled, internal
from boundmark.heuristics.placement.kernels.network import NETWORK, Network
from boundmark.problems.arrays import IntArray

_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]
_PAIR = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
_NEVER = 2**62

# Less than all keys.
_NOTHING = -1

# Of keys; the sign is for `_NOTHING`.
_KEY_BITS = 62


@internal([types.void(_ROW, types.int64, types.int64, types.int64)])
def _push(heap: IntArray, first: int, size: int, key: int) -> None:
    """Add a key to the heap of so many that begins at `first`."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        other = heap[first + parent]
        if other > key:
            break
        heap[first + at] = other
        at = parent
    heap[first + at] = key


@internal([types.int64(_ROW, types.int64, types.int64)])
def _pop(heap: IntArray, first: int, size: int) -> int:
    """Take the largest key out of the heap of so many that begins at `first`."""
    top = heap[first]
    left = size - 1
    key = heap[first + left]
    at = 0
    # The larger children move up to the last level; what was last mostly belongs there.
    while 2 * at + 2 < left:
        child = 2 * at + 1
        child += int(heap[first + child + 1] > heap[first + child])
        heap[first + at] = heap[first + child]
        at = child
    if 2 * at + 1 < left:
        heap[first + at] = heap[first + 2 * at + 1]
        at = 2 * at + 1
    _push(heap, first, at, key)
    return int(top)


@internal([types.int64(types.int64)])
def _bits(number: int) -> int:
    """Return how many bits a number has."""
    bits = 0
    while number >> bits > 0:
        bits += 1
    return bits


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
    producer, size, times = net.producer, net.size, net.times
    readers, reader_start, is_shared = net.readers, net.reader_start, net.is_shared
    seen = np.full(net.capacity.size, -1, np.int64)
    count = 0
    for tensor in range(producer.size):
        first = count
        first_of[tensor] = first
        source = devices[producer[tensor]]
        for at in range(reader_start[tensor], reader_start[tensor + 1]):
            reader = readers[at]
            target = devices[reader]
            is_moved = target != source
            is_known = is_shared != 0 and seen[target] >= first
            row = seen[target] if is_known else count
            least = urgency[row] if is_known else priority[reader]
            # On the same device, this is written over or forgotten.
            urgency[row] = max(least, priority[reader])
            rows[row, 0] = tensor
            rows[row, 1] = target if is_shared else reader
            rows[row, 2] = source
            rows[row, 3] = target
            rows[row, 4] = times[size[tensor], source, target]
            seen[target] = row if is_moved else seen[target]
            count += int(is_moved and not is_known)
    first_of[producer.size] = count
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


@compiled([_PAIR(NETWORK, _ROW, _ROW, _ROW, _TABLE)])
def simulate(
    net: Network, devices: IntArray, priority: IntArray, starts: IntArray, moves: IntArray
) -> tuple[int, int]:
    """Return the makespan of the schedule and the number of its transfers, and fill it in.

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

    Returns
    -------
    tuple
        (-1, -1), and nothing is filled in, if the priorities differ by so much that they and the
        numbers of operators and transfers together have more than 62 bits.
    """
    n, span, tensors = net.order.size, net.capacity.size, net.producer.size
    duration, input_start = net.duration, net.input_start
    outputs, output_start = net.outputs, net.output_start
    readers, reader_start, is_shared = net.readers, net.reader_start, net.is_shared
    bits = _bits(n + readers.size)
    mask = (1 << bits) - 1
    lowest, highest = priority.min(), priority.max()
    if (highest >> 1) - (lowest >> 1) >= 1 << (_KEY_BITS - 2 - bits):
        return -1, -1
    first_of = np.empty(tensors + 1, np.int64)
    move_key = np.empty(readers.size + 1, np.int64)
    count = _needed_transfers(net, devices, priority, first_of, move_key, moves)

    # A heap per device and one per pair of devices, each with a place for whatever it may get.
    op_first, op_size = np.zeros(span + 1, np.int64), np.zeros(span, np.int64)
    for v in range(n):
        op_first[devices[v] + 1] += 1
    op_first = np.cumsum(op_first)
    pairs = span * span
    move_first, move_size = np.zeros(pairs + 1, np.int64), np.zeros(pairs, np.int64)
    for move in range(count):
        move_first[moves[move, 2] * span + moves[move, 3] + 1] += 1
        move_key[move] = (move_key[move] - lowest) << bits | (mask - move)
    move_first = np.cumsum(move_first)
    op_heap, move_heap = np.empty(n, np.int64), np.empty(count, np.int64)
    # The most urgent transfer of each pair.
    tops = np.full(pairs, _NOTHING, np.int64)

    # Lists that are written to before it is known whether they grow have a place more.
    missing = np.empty(n, np.int64)
    ready = np.empty(n + 1, np.int64)
    # What has happened and not been dealt with: operators that ended, n + transfers that arrived.
    stack = np.empty(n + count + 1, np.int64)
    depth, found = 0, 0
    for v in range(n):
        missing[v] = input_start[v + 1] - input_start[v]
        ready[found] = v
        found += int(missing[v] == 0)
    # Of devices, and then of senders: what they do, and when it ends.
    doing, ends = np.full(2 * span, -1, np.int64), np.full(2 * span, _NEVER, np.int64)
    # -1 if something is sent or received, else 0.
    sends, receives = np.zeros(span, np.int64), np.zeros(span, np.int64)
    # What may have become possible since the last event: devices that may start something, senders
    # and receivers.
    idle, sender, receiver = np.empty((3, n + count + span), np.int64)
    idlers, senders, receivers = 0, 0, 0
    now = np.int64(0)
    while True:
        while depth > 0 or found > 0:
            while found > 0:
                found -= 1
                v = ready[found]
                d = devices[v]
                if duration[v, d] == 0:
                    starts[v] = now
                    stack[depth] = v
                    depth += 1
                else:
                    key = (priority[v] - lowest) << bits | (mask - v)
                    _push(op_heap, op_first[d], op_size[d], key)
                    op_size[d] += 1
                    idle[idlers] = d
                    idlers += int(doing[d] < 0)
            if depth == 0:
                break
            depth -= 1
            item = stack[depth]
            if item < n:
                here = devices[item]
                for out in range(output_start[item], output_start[item + 1]):
                    tensor = outputs[out]
                    for at in range(reader_start[tensor], reader_start[tensor + 1]):
                        reader = readers[at]
                        served = int(devices[reader] == here)
                        missing[reader] -= served
                        ready[found] = reader
                        found += served & int(missing[reader] == 0)
                    for move in range(first_of[tensor], first_of[tensor + 1]):
                        if moves[move, 4] == 0:
                            moves[move, 5] = now
                            stack[depth] = n + move
                            depth += 1
                        else:
                            pair = here * span + moves[move, 3]
                            key = move_key[move]
                            _push(move_heap, move_first[pair], move_size[pair], key)
                            move_size[pair] += 1
                            tops[pair] = max(tops[pair], key)
                            sender[senders] = here
                            senders += int(sends[here] == 0)
            else:
                move = item - n
                tensor, served_one = moves[move, 0], moves[move, 1]
                for at in range(reader_start[tensor], reader_start[tensor + 1]):
                    reader = readers[at]
                    served = int((devices[reader] if is_shared else reader) == served_one)
                    missing[reader] -= served
                    ready[found] = reader
                    found += served & int(missing[reader] == 0)

        for index in range(idlers):
            d = idle[index]
            if doing[d] < 0 and op_size[d] > 0:
                v = mask - (_pop(op_heap, op_first[d], op_size[d]) & mask)
                op_size[d] -= 1
                starts[v] = now
                doing[d] = v
                ends[d] = now + duration[v, d]
        while senders + receivers > 0:
            best = np.int64(_NOTHING)
            for index in range(senders):
                source = sender[index]
                for target in range(span):
                    is_busy = sends[source] | receives[target]
                    best = max(best, tops[source * span + target] | is_busy)
            for index in range(receivers):
                target = receiver[index]
                for source in range(span):
                    is_busy = sends[source] | receives[target]
                    best = max(best, tops[source * span + target] | is_busy)
            if best == _NOTHING:
                break
            chosen = mask - (best & mask)
            source, target = moves[chosen, 2], moves[chosen, 3]
            pair = source * span + target
            _pop(move_heap, move_first[pair], move_size[pair])
            move_size[pair] -= 1
            tops[pair] = move_heap[move_first[pair]] if move_size[pair] > 0 else _NOTHING
            moves[chosen, 5] = now
            doing[span + source] = n + chosen
            ends[span + source] = now + moves[chosen, 4]
            sends[source] = receives[target] = -1

        then = np.int64(_NEVER)
        for d in range(2 * span):
            then = min(then, ends[d])
        if then == _NEVER:
            # A tensor that arrives is read at once or later, so an operator ended last.
            return int(now), int(count)
        now = then
        idlers, senders, receivers = 0, 0, 0
        for d in range(2 * span):
            if ends[d] == now:
                item = doing[d]
                stack[depth] = item
                depth += 1
                doing[d], ends[d] = -1, _NEVER
                if item < n:
                    idle[idlers] = d
                    idlers += 1
                else:
                    target = moves[item - n, 3]
                    sends[d - span] = receives[target] = 0
                    sender[senders], receiver[receivers] = d - span, target
                    senders += 1
                    receivers += 1
