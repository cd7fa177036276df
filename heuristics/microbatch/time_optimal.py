"""Blocks of several micro-batches with a beginning and an end, their shortest schedule by Z3.

`time-optimal` searches all blocks of all micro-batches at once (TO of [TESSEL24], VI-B); `tessel`,
those before and after a repetend. Start times keep the constraints of [TESSEL24], Equation 1.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from boundmark.heuristics.microbatch.repetend import held_before
from boundmark.problems.arrays import frozen
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import Job, earliest_starts, peak_memory

# Largest horizon of a timeline, in ticks; beyond it, Z3 would start with millions of terms.
LONGEST_TIMELINE = 4096


@dataclass(frozen=True)
class Question:
    """Jobs and constraints; the answer is a start time, at least 0, for each job.

    Attributes
    ----------
    durations, memory
        Duration and memory of each job; memory is held from its start on, and released if negative.
    on_device
        The jobs on each device, which run one at a time.
    room
        Memory that each device has left at time 0.
    lags
        Triples (i, j, ticks): job j starts at least so many ticks after job i; the ticks may be
        negative.
    horizon
        When all jobs have ended.
    """

    durations: tuple[int, ...]
    memory: tuple[int, ...]
    on_device: tuple[tuple[int, ...], ...]
    room: tuple[int, ...]
    lags: tuple[tuple[int, int, int], ...]
    horizon: int


Find: TypeAlias = Callable[[Question], list[int] | None]


class OutOfTimeError(Exception):
    """The budget ended before Z3 had an answer."""


def finder(budget: Budget, seed: int, memory: str) -> Find:
    """Return a solver: a function from a `Question` to start times, None if there are none.

    The function raises `OutOfTimeError` when the budget is spent, and `UnsupportedError` if a
    timeline would be too long to write down.
    """
    if memory not in ENCODINGS:
        raise InvalidInputError(f"memory is {memory!r}; expected {' or '.join(ENCODINGS)}.")
    encode = ENCODINGS[memory]

    def find(question: Question) -> list[int] | None:
        if budget.is_spent():
            raise OutOfTimeError
        if min(question.room) < 0:
            return None
        return _solve(question, budget, seed, encode)

    return find


def _solve(question: Question, budget: Budget, seed: int, encode: Any) -> list[int] | None:
    import z3

    # Z3 orders terms by when they were made: with a context of its own, an answer does not depend
    # on what was asked before.
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    starts = [z3.Int(f"start{i}", ctx=context) for i in range(len(question.durations))]
    for start, duration in zip(starts, question.durations, strict=True):
        solver.add(start >= 0, start <= question.horizon - duration)
    for i, j, ticks in question.lags:
        solver.add(starts[j] >= starts[i] + ticks)
    for number, (i, j) in enumerate(_unordered(question)):
        # Telling Z3 takes seconds where there are many.
        if number % 1024 == 0 and budget.is_spent():
            raise OutOfTimeError
        solver.add(
            z3.Or(
                starts[i] + question.durations[i] <= starts[j],
                starts[j] + question.durations[j] <= starts[i],
            )
        )
    for device, jobs in enumerate(question.on_device):
        changing = [i for i in jobs if question.memory[i]]
        # Where everything fits at once, there is nothing to constrain.
        if sum(max(0, question.memory[i]) for i in jobs) > question.room[device]:
            for constraint in encode(question, device, changing, starts):
                if budget.is_spent():
                    raise OutOfTimeError
                solver.add(constraint)
    solver.set("random_seed", seed % 2**31)
    answer = _check(solver, budget)
    if answer == z3.unknown:
        raise RuntimeError(f"Z3 gave up: {solver.reason_unknown()}")
    if answer == z3.unsat:
        return None
    model = solver.model()
    return [model.eval(start, model_completion=True).as_long() for start in starts]


def _check(solver: Any, budget: Budget) -> Any:
    """Return Z3's answer, or raise `OutOfTimeError`.

    Z3 has a timeout of its own, but on a busy machine it misses one in about a hundred and goes on
    for ever. So it is interrupted again and again.
    """
    has_answered, is_stopped = threading.Event(), False

    def stop_in_time() -> None:
        nonlocal is_stopped
        if not has_answered.wait(min(budget.remaining(), threading.TIMEOUT_MAX)):
            is_stopped = True
            while not has_answered.wait(timeout=0.05):
                solver.interrupt()

    watch = threading.Thread(target=stop_in_time, daemon=True)
    watch.start()
    try:
        answer = solver.check()
    finally:
        has_answered.set()
        watch.join()
    if is_stopped:
        raise OutOfTimeError
    return answer


def _unordered(question: Question) -> list[tuple[int, int]]:
    """Return the pairs of jobs that share a device and may run in either order."""
    ordered = {(i, j) for i, j, ticks in question.lags if ticks >= question.durations[i]}
    pairs = {
        (i, j)
        for jobs in question.on_device
        for position, i in enumerate(jobs)
        for j in jobs[position + 1 :]
    }
    return sorted((i, j) for i, j in pairs if (i, j) not in ordered and (j, i) not in ordered)


def _timeline(question: Question, device: int, jobs: list[int], starts: list[Any]) -> Iterator[Any]:
    """Bound the memory in each time slot ([TESSEL24], Section V)."""
    import z3

    if question.horizon > LONGEST_TIMELINE:
        raise UnsupportedError(
            f"the timeline has {question.horizon:,} slots; expected at most {LONGEST_TIMELINE:,}, "
            "or memory = pairs."
        )
    zero, room = (z3.IntVal(value, ctx=starts[0].ctx) for value in (0, question.room[device]))
    changes = [(starts[i], z3.IntVal(question.memory[i], ctx=starts[0].ctx)) for i in jobs]
    held = zero
    for slot in range(question.horizon):
        now = z3.IntVal(slot, ctx=starts[0].ctx)
        held = z3.Sum([held, *(z3.If(start == now, memory, zero) for start, memory in changes)])
        yield held <= room


def _pairs(question: Question, device: int, jobs: list[int], starts: list[Any]) -> Iterator[Any]:
    """Bound, for each job that allocates, the memory of the jobs that started before it."""
    import z3

    for i in jobs:
        if question.memory[i] > 0:
            held = z3.Sum([z3.If(starts[j] <= starts[i], question.memory[j], 0) for j in jobs])
            yield held <= question.room[device]


# "timeline" is the published encoding; "pairs" says the same with terms for pairs of blocks in
# place of blocks and ticks.
ENCODINGS: dict[str, Callable[[Question, int, list[int], list[Any]], Iterator[Any]]] = {
    "timeline": _timeline,
    "pairs": _pairs,
}


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


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, *, memory: str
) -> None:
    """Bisect over makespans: report schedules that Z3 finds, and claim bounds that it refutes.

    Parameters
    ----------
    memory
        How Z3 is told what a device holds: ``"timeline"``, as published, or ``"pairs"``.

    Raises
    ------
    UnsupportedError
        If the number of micro-batches is open.
    """
    if not instance.micro_batches:
        raise UnsupportedError(
            "micro_batches is 0, which leaves their number open; expected a number of them."
        )
    phase = Phase.whole(instance.layout, instance.capacity, instance.micro_batches)
    find = finder(budget, seed, memory)
    shape = (instance.micro_batches, instance.nodes)
    progress.bound(Claim("time-optimal", phase.least_makespan))
    try:
        starts = _start_one_after_another(instance, phase) or phase.any_starts(find)
        if starts is None:
            raise InvalidInputError("no schedule fits into the memory; expected more memory.")
        progress.solution(Schedule(frozen(np.reshape(starts, shape))))
        shortest = phase.makespan(starts)
        least = phase.least_makespan
        for better, bound in phase.improve(starts, find):
            if (length := phase.makespan(better)) < shortest:
                shortest = length
                progress.solution(Schedule(frozen(np.reshape(better, shape))))
            if bound > least:
                least = bound
                progress.bound(Claim("time-optimal", bound))
    except OutOfTimeError:
        return


def _start_one_after_another(instance: MicrobatchInstance, phase: Phase) -> list[int] | None:
    """Return the start times if the blocks run in topological order, None if they do not fit."""
    positions = np.argsort(instance.layout.dag.topological_order)
    starts = phase.earliest(
        [number * instance.nodes + int(positions[i]) for number, i in phase.jobs]
    )
    table = np.reshape(starts, (instance.micro_batches, instance.nodes))
    peaks = peak_memory(instance.layout, table)
    fits = all(peak <= room for peak, room in zip(peaks, instance.capacity, strict=True))
    return starts if fits else None
