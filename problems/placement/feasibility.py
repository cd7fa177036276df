"""The constraints of a placement and its schedule ([MOIRAI24], Equations 4 to 8), and memory.

A device runs one operator, sends one tensor and receives one at a time, all three at once. What
takes no time occupies nothing. `Work` says this once, for checks and for what makes schedules.

Memory of devices while a schedule runs is that of parameters, and of tensors while they are live.
With memory model `parameters+live`, a tensor takes memory of its producer's device from the
producer's start until its readers there have ended and it has been moved to all others; of each
device that it is moved to, from the transfer's start until its readers there have ended. What an
operator writes and nobody reads takes memory while the operator runs. What takes no time takes no
memory.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.placement.graph import PlacementGraph, tensor_edges
from boundmark.problems.placement.schedule import PlacementSchedule, moves


def peaks(graph: PlacementGraph, schedule: PlacementSchedule, transfers: str) -> IntArray:
    """Return the most memory that each device has in use at any time, shape (D,)."""
    held = np.zeros(graph.devices, dtype=np.int64)
    np.add.at(held, schedule.devices, graph.memory)
    if not graph.is_live:
        return held
    device, begin, end, taken = _spans(graph, schedule, transfers)
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
    graph: PlacementGraph, schedule: PlacementSchedule, transfers: str
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
    _, targets, ticks = moves(graph, schedule, transfers)
    np.maximum.at(last, tensors, sent + ticks)
    released = sent + ticks
    # Rows are sorted by tensor and receiver.
    is_shared = transfers == PER_TENSOR
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
    return bool((peaks(graph, schedule, transfers) <= graph.capacity).all())


def check_devices(graph: PlacementGraph, devices: IntArray) -> None:
    """Check that devices support their operators and have room for them."""
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


class Work(NamedTuple):
    """The jobs of a placement: first the n operators and then the transfers."""

    # Device of each operator, shape (n,).
    devices: IntArray
    # The consumers that wait for each transfer (tensor, receiver), sorted.
    moves: dict[tuple[int, int], list[int]]
    # How long each job takes.
    ticks: list[int]
    # What nothing else may use while a job runs; nothing if it takes no time.
    uses: list[tuple[str, ...]]
    # The jobs that wait for each.
    after: list[list[int]]

    @classmethod
    def of(cls, graph: PlacementGraph, devices: IntArray, transfers: str) -> "Work":
        """Return the work of a placement, its devices of shape (n,)."""
        place = devices.tolist()
        moves = dict(sorted(needed_transfers(graph, devices, transfers).items()))
        ticks = graph.duration[np.arange(graph.nodes), devices].tolist()
        uses: list[tuple[str, ...]] = [(f"device {device} runs",) for device in place]
        after: list[list[int]] = [[] for _ in range(graph.nodes + len(moves))]
        for _, producer, consumer in tensor_edges(graph):
            if place[producer] == place[consumer]:
                after[producer].append(consumer)
        for job, ((tensor, _), readers) in enumerate(moves.items(), graph.nodes):
            producer = int(graph.producer[tensor])
            source, target = place[producer], place[readers[0]]
            ticks.append(int(graph.times[graph.size[tensor], source, target]))
            uses.append((f"device {source} sends", f"device {target} receives"))
            after[producer].append(job)
            after[job] += readers
        uses = [used if length else () for used, length in zip(uses, ticks, strict=True)]
        return cls(devices, moves, ticks, uses, after)

    def missing(self) -> list[int]:
        """Return how often each job is waited for by others' ends."""
        count = [0] * len(self.ticks)
        for jobs in self.after:
            for job in jobs:
                count[job] += 1
        return count

    def sequence(self, turns: Sequence[float]) -> Iterator[int]:
        """Yield the jobs by their turns, none before what it waits for."""
        missing = self.missing()
        ready = [(turn, job) for job, turn in enumerate(turns) if not missing[job]]
        heapq.heapify(ready)
        while ready:
            job = heapq.heappop(ready)[1]
            yield job
            for other in self.after[job]:
                missing[other] -= 1
                if not missing[other]:
                    heapq.heappush(ready, (turns[other], other))

    def begins(
        self,
        sequence: Iterable[int],
        ticks: Sequence[int],
        release: Sequence[int],
    ) -> list[int]:
        """Return when jobs begin that come one after another, each as early as it can.

        No job begins before its release.
        """
        begin, free = list(release), dict[str, int]()
        for job in sequence:
            begin[job] = max(begin[job], *(free.get(use, 0) for use in self.uses[job]), 0)
            end = begin[job] + ticks[job]
            free.update(dict.fromkeys(self.uses[job], end))
            for other in self.after[job]:
                begin[other] = max(begin[other], end)
        return begin

    def schedule(self, begin: Sequence[int]) -> PlacementSchedule:
        """Return the schedule in which jobs begin at these times."""
        first = len(self.devices)
        rows = [(*key, start) for key, start in zip(self.moves, begin[first:], strict=True)]
        return PlacementSchedule(
            self.devices, np.array(begin[:first]), np.array(rows, np.int64).reshape(-1, 3)
        )

    def in_order(self, turns: Sequence[float]) -> PlacementSchedule:
        """Return the schedule in which jobs take their turns, each as early as it can."""
        return self.schedule(self.begins(self.sequence(turns), self.ticks, [0] * len(self.ticks)))


def check_schedule(graph: PlacementGraph, schedule: PlacementSchedule, transfers: str) -> int:
    """Return the makespan of a schedule that keeps all constraints."""
    check_devices(graph, schedule.devices)
    work = Work.of(graph, schedule.devices, transfers)
    begin = [*schedule.starts.tolist(), *schedule.transfers[:, 2].tolist()]
    if min(begin[: graph.nodes]) < 0:
        first = min(begin[: graph.nodes])
        raise InvalidInputError(f"an operator starts at {first}; expected no start before 0.")
    rows = schedule.transfers[:, :2].tolist()
    if list(map(tuple, rows)) != list(work.moves):
        raise InvalidInputError(
            f"the schedule's {len(rows)} transfers are not the {len(work.moves)} that its devices "
            f"need, {transfers} and sorted."
        )
    end = [start + length for start, length in zip(begin, work.ticks, strict=True)]
    names = [f"operator {name!r}" for name in graph.names]
    names += [f"the transfer of tensor {tensor} to {receiver}" for tensor, receiver in work.moves]
    busy: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for job, others in enumerate(work.after):
        for use in work.uses[job]:
            busy[use].append((begin[job], end[job]))
        for other in others:
            if begin[other] < end[job]:
                raise InvalidInputError(
                    f"{names[other]} starts at {begin[other]}, before {names[job]} ends at "
                    f"{end[job]}."
                )
    for use, spans in busy.items():
        free = 0
        for start, finish in sorted(spans):
            if start < free:
                what = "operators" if use.endswith("runs") else "tensors"
                raise InvalidInputError(f"{use} two {what} at {start}; expected one at a time.")
            free = finish
    if graph.is_live:
        _check_room(graph, peaks(graph, schedule, transfers), "operators and live tensors")
    return int(max(end[: graph.nodes]))
