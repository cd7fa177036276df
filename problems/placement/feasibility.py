"""The constraints of a placement and its schedule ([MOIRAI24], Equations 4 to 8), and memory.

Memory of devices while a schedule runs is that of parameters, and of tensors while they are live.
With memory model `parameters+live`, a tensor takes memory of its producer's device from the
producer's start until its readers there have ended and it has been moved to all others; of each
device that it is moved to, from the transfer's start until its readers there have ended. What an
operator writes and nobody reads takes memory while the operator runs. What takes no time takes no
memory.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.graph import PlacementGraph, tensor_edges
from boundmark.problems.placement.schedule import PlacementSchedule

if TYPE_CHECKING:
    pass


def peaks(graph: PlacementGraph, schedule: PlacementSchedule, *, is_shared: bool) -> IntArray:
    """Return the most memory that each device has in use at any time, shape (D,).

    Parameters
    ----------
    is_shared
        Whether the consumers of a tensor on one device share its transfer.
    """
    held = np.zeros(graph.devices, dtype=np.int64)
    np.add.at(held, schedule.devices, graph.memory)
    if not graph.is_live:
        return held
    device, begin, end, taken = _spans(graph, schedule, is_shared=is_shared)
    counts = (begin < end) & (taken > 0)
    device, begin, end, taken = device[counts], begin[counts], end[counts], taken[counts]
    where, when = np.concatenate([device, device]), np.concatenate([begin, end])
    change = np.concatenate([taken, -taken])
    # At one time, what ends makes room for what begins.
    order = np.lexsort((change > 0, when, where))
    most = np.zeros(graph.devices, dtype=np.int64)
    # What a device has got is given back in the end, so that the next one starts from 0.
    np.maximum.at(most, where[order], np.cumsum(change[order]))
    return np.asarray(held + most)


def _spans(
    graph: PlacementGraph, schedule: PlacementSchedule, *, is_shared: bool
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return device, begin, end and size of all that is there for some time, four of one shape."""
    place, starts = schedule.devices, schedule.starts
    ends = starts + graph.duration[np.arange(graph.nodes), place]
    tensor_of, reader = graph.readings
    home = place[graph.producer]
    there = place[reader]
    is_local = there == home[tensor_of]
    last = ends[graph.producer]
    np.maximum.at(last, tensor_of[is_local], ends[reader[is_local]])
    tensors, receivers, sent = schedule.transfers.T
    targets = receivers if is_shared else place[receivers]
    ticks = graph.times[graph.size[tensors], home[tensors], targets]
    np.maximum.at(last, tensors, sent + ticks)
    released = sent + ticks
    # Rows are sorted by tensor and receiver.
    width = graph.devices if is_shared else graph.nodes
    keys = tensors * width + receivers
    moved = ~is_local
    wanted = tensor_of[moved] * width + (there[moved] if is_shared else reader[moved])
    np.maximum.at(released, np.searchsorted(keys, wanted), ends[reader[moved]])
    return (
        np.concatenate([place, home, targets]),
        np.concatenate([starts, starts[graph.producer], sent]),
        np.concatenate([ends, last, released]),
        np.concatenate([graph.result_memory, graph.tensor_memory, graph.tensor_memory[tensors]]),
    )


PER_TENSOR, PER_EDGE = "per-tensor", "per-edge"


def has_room_while_running(
    graph: PlacementGraph, schedule: PlacementSchedule, transfers: str
) -> bool:
    """Whether no device ever has more in use than its capacity."""
    most = peaks(graph, schedule, is_shared=transfers == PER_TENSOR)
    return bool((most <= graph.capacity).all())


def check_devices(graph: PlacementGraph, devices: IntArray) -> None:
    """Check that devices support their operators and have room for them.

    Raises
    ------
    InvalidInputError
        If not, or if there is not one device for each operator.
    """
    if devices.shape != (graph.nodes,):
        raise InvalidInputError(
            f"the schedule has devices for {devices.size} operators; expected {graph.nodes}."
        )
    if devices.min() < 0 or devices.max() >= graph.devices:
        raise InvalidInputError(
            f"the schedule uses devices {devices.min()} to {devices.max()}; "
            f"expected 0 to {graph.devices - 1}."
        )
    supported = graph.is_supported[np.arange(graph.nodes), devices]
    if not supported.all():
        node = int(np.argmin(supported))
        raise InvalidInputError(
            f"operator {graph.names[node]!r} is on device {devices[node]}, "
            "which does not support it."
        )
    _check_room(graph, memory_held(graph, devices), "operators")


def _check_room(graph: PlacementGraph, taken: IntArray, what: str) -> None:
    """Refuse more memory on a device than it has; name the one that lacks most."""
    lacking = taken - graph.capacity
    device = int(lacking.argmax())
    if lacking[device] > 0:
        raise InvalidInputError(
            f"{what} on device {device} take {taken[device]} of memory; expected at most "
            f"{graph.capacity[device]}, so {lacking[device]} are missing."
        )


def memory_held(graph: PlacementGraph, devices: IntArray) -> IntArray:
    """Return the memory that the operators of each device take there, shape (D,)."""
    held = np.zeros(graph.devices, dtype=np.int64)
    np.add.at(held, devices, graph.memory)
    return held


def needed_transfers(
    graph: PlacementGraph, devices: IntArray, transfers: str
) -> dict[tuple[int, int], list[int]]:
    """Return the consumers that wait for each transfer (tensor, receiver) that devices need."""
    place = devices.tolist()
    waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
    for tensor, producer, consumer in tensor_edges(graph):
        if place[producer] != place[consumer]:
            receiver = place[consumer] if transfers == PER_TENSOR else consumer
            waiting[tensor, receiver].append(consumer)
    return waiting


def check_schedule(graph: PlacementGraph, schedule: PlacementSchedule, transfers: str) -> int:
    """Return the makespan of a schedule that keeps all constraints.

    Raises
    ------
    InvalidInputError
        If it does not, with the first one that it breaks.
    """
    check_devices(graph, schedule.devices)
    place, start = schedule.devices.tolist(), schedule.starts.tolist()
    ticks = graph.duration[np.arange(graph.nodes), schedule.devices].tolist()
    if min(start) < 0:
        raise InvalidInputError(f"an operator starts at {min(start)}; expected no start before 0.")
    end = [begin + length for begin, length in zip(start, ticks, strict=True)]
    waiting = needed_transfers(graph, schedule.devices, transfers)
    rows = schedule.transfers.tolist()
    if [(tensor, receiver) for tensor, receiver, _ in rows] != sorted(waiting):
        raise InvalidInputError(
            f"the schedule's {len(rows)} transfers are not the {len(waiting)} that its devices "
            f"need, {transfers} and sorted."
        )
    for _, producer, consumer in tensor_edges(graph):
        if place[producer] == place[consumer] and start[consumer] < end[producer]:
            raise InvalidInputError(
                f"operator {graph.names[consumer]!r} starts at {start[consumer]}, before operator "
                f"{graph.names[producer]!r} ends at {end[producer]}."
            )
    uses: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for node, device in enumerate(place):
        uses[f"device {device} runs two operators"].append((start[node], end[node]))
    for tensor, receiver, begin in rows:
        producer, consumers = int(graph.producer[tensor]), waiting[tensor, receiver]
        source, target = place[producer], place[consumers[0]]
        finish = begin + int(graph.times[graph.size[tensor], source, target])
        if begin < end[producer] or finish > min(start[consumer] for consumer in consumers):
            raise InvalidInputError(
                f"tensor {tensor} is moved from {begin} to {finish}; expected it after its "
                "producer and before its consumers."
            )
        uses[f"device {source} sends two tensors"].append((begin, finish))
        uses[f"device {target} receives two tensors"].append((begin, finish))
    for what, spans in uses.items():
        _check_one_at_a_time(what, spans)
    if graph.is_live:
        most = peaks(graph, schedule, is_shared=transfers == PER_TENSOR)
        _check_room(graph, most, "operators and live tensors")
    return int(max(end))


def _check_one_at_a_time(what: str, spans: list[tuple[int, int]]) -> None:
    """Refuse spans of positive length that overlap."""
    free = 0
    for begin, finish in sorted(span for span in spans if span[0] < span[1]):
        if begin < free:
            raise InvalidInputError(f"{what} at {begin}; expected one at a time.")
        free = finish
