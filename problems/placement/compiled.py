"""List scheduling of a placement, compiled: `simulation.list_schedule`, a hundred times as fast.

Time goes from event to event. Which of two things is more urgent, whether two operators share a
device, and what happens next can hardly be predicted, and a wrong guess costs a processor as much
as ten instructions. So an urgency and a number are one integer, of which heaps keep nothing else,
and decisions are sums and maxima where they can be.

Indices are cast to unsigned integers of 32 bits. Of others, numba adds the length of the array to
those that are negative, and testing for that takes three instructions at each access.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, inlined, internal
from boundmark.problems.placement.feasibility import PER_TENSOR
from boundmark.problems.placement.instance import PlacementInstance
from boundmark.problems.placement.schedule import PlacementSchedule


class PlacementArrays(NamedTuple):
    """Operators, tensors and costs of an instance.

    Compiled code knows fields by position. Whoever reorders them has to clear numba's cache, which
    only notices changes of the kernels' own files.
    """

    # Ticks of each operator on each device, -1 if it cannot run there, shape (n, D).
    duration: IntArray
    # The operators in topological order, shape (n,).
    order: IntArray
    # Each tensor's operator, and its table in `times`, shape (T,).
    producer: IntArray
    size: IntArray
    # Tensor t is read by ``readers[reader_start[t] : reader_start[t + 1]]``.
    reader_start: IntArray
    readers: IntArray
    # Operator v writes ``outputs[output_start[v] : output_start[v + 1]]``.
    output_start: IntArray
    outputs: IntArray
    # Operator v reads ``inputs[input_start[v] : input_start[v + 1]]``.
    input_start: IntArray
    inputs: IntArray
    # Ticks to move a tensor, shape (S, D, D).
    times: IntArray
    # Memory of operators, shape (n,), and of devices, shape (D,).
    memory: IntArray
    capacity: IntArray
    # 1 if the consumers of a tensor on one device share its transfer, else 0.
    is_shared: int


def _readonly(axes: int) -> types.Array:
    return types.Array(types.int64, axes, "C", readonly=True)


ARRAYS = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_readonly(2), *[_readonly(1)] * 9, _readonly(3), *[_readonly(1)] * 2, types.int64],
    PlacementArrays,
)


def placement_arrays(instance: PlacementInstance) -> PlacementArrays:
    """Return the arrays of an instance as kernels take them.

    They are read-only, which those of an instance are not when it comes from another process.
    """
    graph = instance.graph
    tensor_of, readers = graph.readings
    ends = np.arange(graph.nodes + 1)
    return PlacementArrays(
        duration=frozen(graph.duration),
        order=frozen(graph.dag.topological_order),
        producer=frozen(graph.producer),
        size=frozen(graph.size),
        reader_start=frozen(np.searchsorted(tensor_of, np.arange(len(graph.size) + 1))),
        readers=frozen(readers),
        output_start=frozen(np.searchsorted(np.sort(graph.producer), ends)),
        outputs=frozen(np.argsort(graph.producer, kind="stable")),
        input_start=frozen(np.searchsorted(np.sort(readers), ends)),
        inputs=frozen(tensor_of[np.argsort(readers, kind="stable")]),
        times=frozen(graph.times),
        memory=frozen(graph.memory),
        capacity=frozen(graph.capacity),
        is_shared=int(instance.transfers == PER_TENSOR),
    )


_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]
_PAIR = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
_NEVER = 2**62

# For indices; mypy would tell it from an int.
_U: Any = np.uint32

# Less than all keys.
_NOTHING = -1

# Keys have this many bits; the sign is for `_NOTHING`.
_KEY_BITS = 62


@inlined([types.void(_ROW, types.uint32, types.int64, types.int64)])
def _push(heap: IntArray, first: int, size: int, key: int) -> None:
    """Add a key to the heap of `size` keys that begins at `first`."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        other = heap[_U(first + parent)]
        if other > key:
            break
        heap[_U(first + at)] = other
        at = parent
    heap[_U(first + at)] = key


@inlined([types.int64(_ROW, types.uint32, types.int64)])
def _pop(heap: IntArray, first: int, size: int) -> int:
    """Remove and return the largest key of the heap of `size` keys that begins at `first`."""
    top = heap[first]
    left = size - 1
    key = heap[_U(first + left)]
    at, child = 0, 1
    # The larger children move up to the last level; what was last mostly belongs there.
    while child + 1 < left:
        one, two = heap[_U(first + child)], heap[_U(first + child + 1)]
        heap[_U(first + at)] = max(one, two)
        at = child + int(two > one)
        child = 2 * at + 1
    if child < left:
        heap[_U(first + at)] = heap[_U(first + child)]
        at = child
    _push(heap, first, at, key)
    return int(top)


@inlined([types.int64(_ROW, types.int64, types.int64)])
def _remove(ports: IntArray, count: int, port: int) -> int:
    """Remove a port from the first `count` of a list; return how many are left."""
    kept = 0
    for index in range(count):
        other = ports[_U(index)]
        ports[_U(kept)] = other
        kept += int(other != port)
    return kept


@internal([types.int64(types.int64)])
def _bits(number: int) -> int:
    """Return the number of bits of a number."""
    bits = 0
    while number >> bits > 0:
        bits += 1
    return bits


@internal([types.int64(ARRAYS, _ROW, _ROW, _ROW, _ROW, _TABLE, _ROW)])
def _needed_transfers(
    net: PlacementArrays,
    devices: IntArray,
    priority: IntArray,
    first_of: IntArray,
    urgency: IntArray,
    rows: IntArray,
    waits_for: IntArray,
) -> int:
    """List the transfers: (tensor, receiver, source, target, ticks, start); return how many.

    `waits_for` gets, for each consumer of each tensor, what it waits for: the operator that writes
    the tensor, or n + the transfer that brings it.
    """
    producer, size, times = net.producer, net.size, net.times
    readers, reader_start, is_shared = net.readers, net.reader_start, net.is_shared
    n = devices.size
    seen = np.full(net.capacity.size, -1, np.int64)
    count = 0
    for tensor in range(producer.size):
        first = count
        first_of[tensor] = first
        writer = producer[tensor]
        source = _U(devices[_U(writer)])
        for at in range(reader_start[tensor], reader_start[tensor + 1]):
            reader = _U(readers[_U(at)])
            target = _U(devices[reader])
            is_moved = target != source
            is_known = is_shared != 0 and seen[target] >= first
            row = _U(seen[target] if is_known else count)
            least = urgency[row] if is_known else priority[reader]
            # On the same device, this is written over or forgotten.
            urgency[row] = max(least, priority[reader])
            rows[row, 0] = tensor
            rows[row, 1] = target if is_shared else reader
            rows[row, 2] = source
            rows[row, 3] = target
            rows[row, 4] = times[_U(size[tensor]), source, target]
            waits_for[_U(at)] = n + row if is_moved else writer
            seen[target] = row if is_moved else seen[target]
            count += int(is_moved and not is_known)
    first_of[producer.size] = count
    return count


@compiled([_ROW(ARRAYS, _ROW)])
def time_to_end(net: PlacementArrays, devices: IntArray) -> IntArray:
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


@compiled([_PAIR(ARRAYS, _ROW, _ROW, _ROW, _TABLE)])
def simulate(
    net: PlacementArrays, devices: IntArray, priority: IntArray, starts: IntArray, moves: IntArray
) -> tuple[int, int]:
    """Fill in the schedule; return its makespan and the number of its transfers."""
    n, span, tensors = net.order.size, net.capacity.size, net.producer.size
    duration, input_start = net.duration, net.input_start
    outputs, output_start = net.outputs, net.output_start
    readers, reader_start = net.readers, net.reader_start
    bits = _bits(n + readers.size)
    mask = (1 << bits) - 1
    lowest, highest = priority.min(), priority.max()
    if (highest >> 1) - (lowest >> 1) >= 1 << (_KEY_BITS - 2 - bits):
        return -1, -1
    first_of = np.empty(tensors + 1, np.int64)
    move_key = np.empty(readers.size + 1, np.int64)
    waits_for = np.empty(readers.size, np.int64)
    count = _needed_transfers(net, devices, priority, first_of, move_key, moves, waits_for)

    # Queues are heaps: one per device and one per pair of devices, each with a place for whatever
    # it may get.
    queues = span + span * span
    first, size = np.zeros(queues + 1, np.int64), np.zeros(queues, np.int64)
    # Each operator's number of missing inputs, device, ticks and key. Side by side, they share a
    # line of the cache. Lists that are written to before it is known whether they grow have a
    # place more.
    operators = np.empty((n, 4), np.int64)
    ready = np.empty(n + 1, np.int64)
    found = 0
    for v in range(n):
        d = _U(devices[v])
        operators[v, 0] = input_start[v + 1] - input_start[v]
        operators[v, 1] = d
        operators[v, 2] = duration[v, d]
        operators[v, 3] = (priority[v] - lowest) << bits | (mask - v)
        first[_U(d + 1)] += 1
        ready[_U(found)] = v
        found += int(operators[v, 0] == 0)
    for move in range(count):
        first[_U(span + moves[move, 2] * span + moves[move, 3] + 1)] += 1
        move_key[move] = (move_key[move] - lowest) << bits | (mask - move)
    first = np.cumsum(first)
    heap = np.empty(n + count, np.int64)
    # The most urgent transfer of each pair, and how many wait in all.
    tops = np.full(span * span, _NOTHING, np.int64)
    waiting = 0

    # Instant events that are not handled yet: operators that ended, n + transfers that arrived.
    stack = np.empty(n + count + 1, np.int64)
    depth = 0
    # Current job of each device and then each sender, its end, and the other port that is busy.
    doing, ends = np.empty(2 * span, np.int64), np.full(2 * span, _NEVER, np.int64)
    other = np.empty(2 * span, np.int64)
    # -1 while busy, else 0: devices, senders and receivers.
    busy = np.zeros(3 * span, np.int64)
    # Devices that may have become able to start something since the last event; senders; receivers.
    most_changes = n + count + span
    idle, sender = np.empty(most_changes, np.int64), np.empty(most_changes, np.int64)
    receiver = np.empty(most_changes, np.int64)
    idlers, senders, receivers = 0, 0, 0
    now = 0
    # The next operator or transfer to end.
    soonest, slot = _NEVER, 0
    while True:
        while True:
            for index in range(found):
                v = _U(ready[_U(index)])
                d = _U(operators[v, 1])
                if operators[v, 2] == 0:
                    starts[v] = now
                    stack[_U(depth)] = v
                    depth += 1
                else:
                    _push(heap, _U(first[d]), size[d], operators[v, 3])
                    size[d] += 1
                    idle[_U(idlers)] = d
                    idlers += 1 + busy[d]
            if depth > 0:
                depth -= 1
                item = stack[_U(depth)]
            elif soonest == now:
                item = doing[_U(slot)]
                busy[_U(slot)] = busy[_U(other[_U(slot)])] = 0
                is_move = int(slot >= span)
                idle[_U(idlers)] = slot
                idlers += 1 - is_move
                sender[_U(senders)] = slot - span
                senders += is_move
                receiver[_U(receivers)] = other[_U(slot)] - 2 * span
                receivers += is_move
                ends[_U(slot)] = soonest = _NEVER
                for port in range(2 * span):
                    slot = port if ends[port] < soonest else slot
                    soonest = min(soonest, ends[port])
            else:
                break
            found = 0
            # A transfer serves consumers of its tensor, an operator those of all that it writes.
            begin, end = 0, 1
            if item < n:
                begin, end = output_start[_U(item)], output_start[_U(item + 1)]
            for out in range(begin, end):
                tensor = _U(outputs[_U(out)] if item < n else moves[_U(item - n), 0])
                for at in range(reader_start[tensor], reader_start[_U(tensor + 1)]):
                    reader = _U(readers[_U(at)])
                    served = int(waits_for[_U(at)] == item)
                    missing = operators[reader, 0] - served
                    operators[reader, 0] = missing
                    ready[_U(found)] = reader
                    found += served & int(missing == 0)
                if item >= n:
                    break
                here = _U(operators[_U(item), 1])
                for move in range(first_of[tensor], first_of[_U(tensor + 1)]):
                    row = _U(move)
                    if moves[row, 4] == 0:
                        moves[row, 5] = now
                        stack[_U(depth)] = n + move
                        depth += 1
                    else:
                        pair = _U(here * span + moves[row, 3])
                        queue = _U(span + pair)
                        _push(heap, _U(first[queue]), size[queue], move_key[row])
                        size[queue] += 1
                        waiting += 1
                        tops[pair] = max(tops[pair], move_key[row])
                        sender[_U(senders)] = here
                        senders += 1 + busy[_U(span + here)]

        for index in range(idlers):
            d = _U(idle[_U(index)])
            if busy[d] == 0 and size[d] > 0:
                v = _U(mask - (_pop(heap, _U(first[d]), size[d]) & mask))
                size[d] -= 1
                starts[v] = now
                doing[d], other[d], busy[d] = v, d, -1
                ends[d] = end = now + operators[v, 2]
                slot = d if end < soonest else slot
                soonest = min(soonest, end)
        while waiting > 0 and senders + receivers > 0:
            best = np.int64(_NOTHING)
            for index in range(senders):
                source = _U(sender[_U(index)])
                most = np.int64(_NOTHING)
                for target in range(span):
                    key = tops[_U(source * span + target)] | busy[_U(2 * span + target)]
                    most = max(most, key)
                best = max(best, most | busy[_U(span + source)])
            for index in range(receivers):
                target = _U(receiver[_U(index)])
                most = np.int64(_NOTHING)
                for source in range(span):
                    key = tops[_U(source * span + target)] | busy[_U(span + source)]
                    most = max(most, key)
                best = max(best, most | busy[_U(2 * span + target)])
            if best == _NOTHING:
                break
            row = _U(mask - (best & mask))
            source, target = _U(moves[row, 2]), _U(moves[row, 3])
            pair = _U(source * span + target)
            queue = _U(span + pair)
            _pop(heap, _U(first[queue]), size[queue])
            size[queue] -= 1
            waiting -= 1
            tops[pair] = heap[_U(first[queue])] if size[queue] > 0 else _NOTHING
            moves[row, 5] = now
            port = _U(span + source)
            doing[port], other[port] = n + row, 2 * span + target
            busy[port] = busy[_U(2 * span + target)] = -1
            ends[port] = end = now + moves[row, 4]
            slot = port if end < soonest else slot
            soonest = min(soonest, end)
            # Mostly nothing else can start; this saves the search for it.
            senders = _remove(sender, senders, source)
            receivers = _remove(receiver, receivers, target)

        if soonest == _NEVER:
            # A tensor that arrives is read at once or later, so an operator ended last.
            return int(now), int(count)
        now = soonest
        idlers, senders, receivers, found = 0, 0, 0, 0


class Simulator:
    """List scheduling of an instance's placements; `arrays` are what kernels read."""

    def __init__(self, instance: PlacementInstance) -> None:
        self.arrays = placement_arrays(instance)
        self._starts = np.empty(instance.nodes, np.int64)
        self._moves = np.empty((len(self.arrays.readers), 6), np.int64)
        self._count = 0

    def makespan(self, devices: IntArray, priority: IntArray | None = None) -> int:
        """Return the makespan of a placement by list scheduling."""
        if priority is None:
            priority = time_to_end(self.arrays, devices)
        into = self._starts, self._moves
        makespan, self._count = simulate(self.arrays, devices, priority, *into)
        if makespan < 0:
            # The priorities are too large for the kernel; only their order counts.
            ranks = np.unique(priority, return_inverse=True)[1].astype(np.int64)
            makespan, self._count = simulate(self.arrays, devices, ranks, *into)
        return makespan

    def schedule(self, devices: IntArray) -> PlacementSchedule:
        """Return the schedule of the placement that was simulated last."""
        rows = self._moves[: self._count, [0, 1, 5]]
        by_key = np.lexsort((rows[:, 1], rows[:, 0]))
        return PlacementSchedule(devices, self._starts, rows[by_key])
