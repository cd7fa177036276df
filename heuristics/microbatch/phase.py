"""Blocks of several micro-batches with a beginning and an end, and their shortest schedule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from boundmark.heuristics.microbatch.repetend import held_before
from boundmark.heuristics.microbatch.start_times import Find, Question
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.earliest_starts import Job, earliest_starts

# When each (micro-batch, block) starts.
Starts: TypeAlias = Mapping[Job, int]


@dataclass(frozen=True)
class Phase:
    """Blocks that are scheduled together: a warm-up, a cool-down, or all of them.

    Attributes
    ----------
    jobs
        Pairs (micro-batch, block), ascending.
    room
        Memory that each device has left when the phase begins.
    """

    layout: BlockLayout
    jobs: tuple[Job, ...]
    room: tuple[int, ...]

    @classmethod
    def warm_up(
        cls, layout: BlockLayout, capacity: Sequence[int], members: Sequence[int]
    ) -> "Phase":
        """Return the blocks before the repetend ([TESSEL24], Equation 5)."""
        return cls(
            layout,
            tuple(
                (number, i)
                for number in range(max(members) + 1)
                for i, member in enumerate(members)
                if number < member
            ),
            tuple(capacity),
        )

    @classmethod
    def cool_down(
        cls, layout: BlockLayout, capacity: Sequence[int], members: Sequence[int]
    ) -> "Phase":
        """Return the blocks after the repetend ([TESSEL24], Equation 6)."""
        held = held_before(layout, [member + 1 for member in members])
        return cls(
            layout,
            tuple(
                (number, i)
                for number in range(max(members) + 1)
                for i, member in enumerate(members)
                if number > member
            ),
            tuple(c - h for c, h in zip(capacity, held, strict=True)),
        )

    @classmethod
    def whole(cls, layout: BlockLayout, capacity: Sequence[int], micro_batches: int) -> "Phase":
        """Return all blocks of all micro-batches."""
        return cls(
            layout,
            tuple((m, i) for m in range(micro_batches) for i in range(len(layout.blocks))),
            tuple(capacity),
        )

    @cached_property
    def durations(self) -> tuple[int, ...]:
        """Ticks of each job."""
        return tuple(self.layout.blocks[i].duration for _, i in self.jobs)

    @cached_property
    def on_device(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the jobs on each device."""
        return tuple(
            tuple(
                number
                for number, (_, i) in enumerate(self.jobs)
                if device in self.layout.blocks[i].devices
            )
            for device in range(self.layout.devices)
        )

    @cached_property
    def orders(self) -> tuple[tuple[int, int], ...]:
        """Pairs of jobs where the second waits for the first.

        Micro-batches are alike, so that a block may have them in ascending order (Property IV.1).
        """
        number = {job: position for position, job in enumerate(self.jobs)}
        pairs = [
            ((m, i), (m, j))
            for i, j in self.layout.dag.edge_pairs().tolist()
            for m in {m for m, _ in self.jobs}
        ]
        pairs += [((m, i), (m + 1, i)) for m, i in self.jobs]
        return tuple(
            sorted((number[a], number[b]) for a, b in pairs if a in number and b in number)
        )

    @cached_property
    def least_makespan(self) -> int:
        """A lower bound on the makespan: the load of a device, or the longest path."""
        loads = [sum(self.durations[a] for a in here) for here in self.on_device]
        ends = list(self.durations)
        for a, b in sorted(self.orders, key=lambda pair: self._topological_position(pair[0])):
            ends[b] = max(ends[b], ends[a] + self.durations[b])
        return max(loads + ends)

    def question(self, horizon: int) -> Question:
        """Ask for start times such that all jobs have ended by a time."""
        return Question(
            self.durations,
            tuple(self.layout.blocks[i].memory for _, i in self.jobs),
            self.on_device,
            self.room,
            tuple((a, b, self.durations[a]) for a, b in self.orders),
            horizon,
        )

    def any_starts(self, find: Find) -> list[int] | None:
        """Return some start times, as early as the order of jobs on each device allows."""
        if not self.jobs:
            return []
        starts = find(self.question(sum(self.durations)))
        return None if starts is None else self.earliest(starts)

    def improve(self, starts: list[int], find: Find) -> Iterator[tuple[list[int], int]]:
        """Yield better and better start times, each with a lower bound on the makespan.

        Bisection over makespans (Section V); start times that are found tighten the interval to
        their own makespan. It ends when bound and makespan meet.
        """
        if not self.jobs:
            return
        least = self.least_makespan
        while least < (length := self.makespan(starts)):
            horizon = (least + length - 1) // 2
            better = find(self.question(horizon))
            if better is None:
                least = horizon + 1
            else:
                starts = self.earliest(better)
            yield starts, least

    def earliest(self, starts: Sequence[int]) -> list[int]:
        """Return the earliest start times with the same order of jobs on each device."""
        sequence = sorted(range(len(self.jobs)), key=lambda job: starts[job])
        earliest = earliest_starts(self.layout, (self.jobs[job] for job in sequence))
        return [earliest[job] for job in self.jobs]

    def fits(self, starts: Sequence[int]) -> bool:
        """Return whether no device ever holds more than it has left."""
        for room, here in zip(self.room, self.on_device, strict=True):
            held = 0
            for job in sorted(here, key=starts.__getitem__):
                held += self.layout.blocks[self.jobs[job][1]].memory
                if held > room:
                    return False
        return True

    def makespan(self, starts: Sequence[int]) -> int:
        """Return when the last job ends."""
        return max(a + b for a, b in zip(starts, self.durations, strict=True))

    def by_job(self, starts: Sequence[int]) -> Starts:
        """Return the start times by micro-batch and block."""
        return dict(zip(self.jobs, starts, strict=True))

    def _topological_position(self, job: int) -> tuple[int, int]:
        number, block = self.jobs[job]
        return number, self._positions[block]

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {block: p for p, block in enumerate(self.layout.dag.topological_order.tolist())}
