"""When the operators and transfers of a placement start: the definition of its schedules.

A device runs one operator, sends one tensor and receives one at a time, all three at once
([MOIRAI24], Equations 4 to 8). What takes no time happens as soon as it can, and occupies nothing.
`list_schedule` is what methods that only choose devices get; `compiled.simulate` makes the same
choices, some fifty times as fast.
"""

import heapq
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.noise import FloatArray, Noise
from boundmark.problems.placement.feasibility import PER_TENSOR, needed_transfers
from boundmark.problems.placement.graph import tensor_edges
from boundmark.problems.placement.instance import PlacementInstance
from boundmark.problems.placement.schedule import PlacementSchedule


class Work(NamedTuple):
    """What a placement has to do: jobs, first the n operators and then the transfers.

    Attributes
    ----------
    devices
        Of each operator, shape (n,).
    moves
        The consumers that wait for each transfer (tensor, receiver), sorted.
    ticks
        How long each job takes.
    uses
        What nothing else may use while a job runs; nothing if it takes no time.
    after
        The jobs that wait for each.
    """

    devices: IntArray
    moves: dict[tuple[int, int], list[int]]
    ticks: list[int]
    uses: list[tuple[str, ...]]
    after: list[list[int]]

    @classmethod
    def of(cls, instance: PlacementInstance, devices: IntArray) -> "Work":
        """Return the work of a placement, its devices of shape (n,)."""
        graph, place = instance.graph, devices.tolist()
        moves = dict(sorted(needed_transfers(graph, devices, instance.transfers).items()))
        ticks = graph.duration[np.arange(graph.nodes), devices].tolist()
        uses: list[tuple[str, ...]] = [(f"run {device}",) for device in place]
        after: list[list[int]] = [[] for _ in range(graph.nodes + len(moves))]
        for _, producer, consumer in tensor_edges(graph):
            if place[producer] == place[consumer]:
                after[producer].append(consumer)
        for job, ((tensor, _), readers) in enumerate(moves.items(), graph.nodes):
            producer = int(graph.producer[tensor])
            source, target = place[producer], place[readers[0]]
            ticks.append(int(graph.times[graph.size[tensor], source, target]))
            uses.append((f"send {source}", f"receive {target}"))
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
        ticks: Sequence[Any],
        release: Sequence[Any],
        latest: Callable[[Any, Any], Any] = max,
    ) -> list[Any]:
        """Return when jobs begin that come one after another, each as early as it can.

        Times may be numbers, or arrays of several draws with `np.maximum` as their latest. No job
        begins before its release.
        """
        begin, free = list(release), dict[str, Any]()
        for job in sequence:
            begin[job] = reduce(latest, (free.get(use, 0) for use in self.uses[job]), begin[job])
            end = begin[job] + ticks[job]
            free.update(dict.fromkeys(self.uses[job], end))
            for other in self.after[job]:
                begin[other] = latest(begin[other], end)
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


def in_order(
    instance: PlacementInstance,
    devices: IntArray,
    starts: Sequence[float],
    moved: Mapping[tuple[int, int], float] | None = None,
) -> PlacementSchedule:
    """Schedule all operators and transfers as early as possible, in the order of given times.

    Parameters
    ----------
    devices
        Of each operator, shape (n,).
    starts, moved
        About when operators and needed transfers start; nothing comes before what it waits for,
        whatever these say. Transfers that are not in there take their turn with their producers.
    """
    work, known = Work.of(instance, devices), moved or {}
    producer = instance.graph.producer
    return work.in_order(
        [*starts, *(known.get(key, starts[producer[key[0]]]) for key in work.moves)]
    )


def list_schedule(
    instance: PlacementInstance, devices: IntArray, priority: Sequence[int]
) -> PlacementSchedule:
    """Return the schedule in which nothing waits that could start, the most urgent first.

    Whenever a device is idle, it starts the operator with the largest priority whose inputs are
    there, of equal ones the first. Whenever a sender and a receiver are free, the most urgent
    tensor that waits between any two such devices is sent: a transfer is as urgent as the most
    urgent consumer that it serves; of equal ones the earlier tensor comes first, then the one with
    the first consumer. Nothing waits on purpose, and nothing is interrupted.
    """
    work = Work.of(instance, devices)
    rank: list[tuple[int, ...]] = [(-urgency, v) for v, urgency in enumerate(priority)]
    for (tensor, _), readers in work.moves.items():
        rank.append((-max(priority[reader] for reader in readers), tensor, readers[0]))
    missing, begin = work.missing(), [0] * len(rank)
    free: dict[str, int] = {}
    waiting: list[tuple[tuple[int, ...], int]] = []
    running: list[tuple[int, int]] = []
    ready = [job for job, count in enumerate(missing) if not count]

    def end(job: int) -> None:
        for other in work.after[job]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)

    now = 0
    while ready or waiting or running:
        while ready:
            job = ready.pop()
            if work.ticks[job]:
                insort(waiting, (rank[job], job))
            else:
                begin[job] = now
                end(job)
        kept = []
        for entry in waiting:
            job = entry[1]
            if any(free.get(use, 0) > now for use in work.uses[job]):
                kept.append(entry)
                continue
            begin[job] = now
            heapq.heappush(running, (now + work.ticks[job], job))
            free.update(dict.fromkeys(work.uses[job], now + work.ticks[job]))
        waiting = kept
        if running:
            now = running[0][0]
        while running and running[0][0] == now:
            end(heapq.heappop(running)[1])
    return work.schedule(begin)


def noisy_makespans(
    instance: PlacementInstance, schedule: PlacementSchedule, noise: Noise
) -> FloatArray:
    """Return the makespan of a feasible schedule in each draw, shape (draws,).

    Devices stay, and so do the orders in which each device runs operators, sends and receives.
    Everything starts as soon as what it waits for has ended. An operator has a factor for each
    device, a tensor one for all its transfers. Memory is not looked at.
    """
    graph, random = instance.graph, noise.generator()
    place = schedule.devices
    ticks = np.empty((noise.draws, graph.nodes + len(schedule.transfers)))
    for device in range(graph.devices):
        factors = noise.factors(random, graph.nodes)
        here = np.flatnonzero(place == device)
        ticks[:, here] = graph.duration[here, device] * factors[:, here]
    tensors, receivers, starts = schedule.transfers.T
    targets = receivers if instance.transfers == PER_TENSOR else place[receivers]
    sources = place[graph.producer[tensors]]
    moving = graph.times[graph.size[tensors], sources, targets]
    ticks[:, graph.nodes :] = moving * noise.factors(random, len(graph.size))[:, tensors]
    work, columns = Work.of(instance, place), ticks.T
    jobs = work.sequence([*schedule.starts.tolist(), *starts.tolist()])
    begin = work.begins(jobs, columns, np.zeros_like(columns), np.maximum)
    return np.asarray((np.array(begin) + columns)[: graph.nodes].max(axis=0))
