"""When the operators and transfers of a placement start: the definition of its schedules.

A device runs one operator, sends one tensor and receives one at a time, all three at once
([MOIRAI24], Equations 4 to 8). What takes no time happens as soon as it can, and occupies nothing.
`list_schedule` is what methods that only choose devices get; `compiled.simulate` makes the same
choices, a hundred times as fast.
"""

import heapq
from bisect import insort
from collections.abc import Mapping, Sequence

from boundmark.problems.arrays import IntArray
from boundmark.problems.placement.feasibility import Work
from boundmark.problems.placement.instance import PlacementInstance
from boundmark.problems.placement.schedule import PlacementSchedule


def in_order(
    instance: PlacementInstance,
    devices: IntArray,
    starts: Sequence[float],
    moved: Mapping[tuple[int, int], float] | None = None,
) -> PlacementSchedule:
    """Schedule all operators and transfers as early as possible, in the order of given times."""
    work, known = Work.of(instance.graph, devices, instance.transfers), moved or {}
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
    work = Work.of(instance.graph, devices, instance.transfers)
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
