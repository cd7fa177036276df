"""`modulo`: bounds first, then ever better schedules until one is proven optimal.

A schedule is completed around its repetend ([TESSEL24], Section IV-C), which is one period of a
steady state. On each device the warm-up ends before the repetend begins, and the cool-down begins
after it has ended, so that repetitions fit in between, and each device holds between repetitions
what it holds in the steady state.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from boundmark.bounds.best import Best
from boundmark.bounds.cp_sat import new_model, new_solver, solve
from boundmark.bounds.microbatch import device_load, memory_latency
from boundmark.bounds.microbatch.memory_latency import least_capacity
from boundmark.bounds.microbatch.steady_state import SteadyState, SteadyStateModel, one_by_one
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import left_shifted, makespan, peak_memory

KIND = "modulo/1"


# Part of the time left for less memory, and for shorter ends, at a given period; but no more than
# some seconds for either, since they change nothing about the objective.
POLISH_SHARE = 0.015
POLISH_SECONDS = 5.0

# Part of the time for the period where the makespan counts.
PERIOD_SHARE = 0.3

# Number of periods between the bounds up to which each gets a search of its own: a constant period
# makes a much easier model than a variable one.
FEW_PERIODS = 256

# Seconds of the first searches. Those that decide nothing are repeated with as many and with linear
# relaxations, then with twice as many without, and so on.
FIRST_SECONDS = 1.0

# Number of blocks of all micro-batches up to which they are searched one by one; with more,
# building the model takes seconds, and its search gets nowhere.
MOST_BLOCKS = 1500


class _Reports:
    """Reporter of schedules and bounds; starts with the cheap bounds."""

    def __init__(self, instance: MicrobatchInstance, progress: Progress) -> None:
        # A later schedule with the same period has less memory or shorter ends.
        self.best = Best(instance, progress, passes_equals=True)
        self.best.bound(device_load.certificate(instance, "modulo"))
        held = memory_latency.certificate(instance, "modulo")
        if held is not None:
            self.best.bound(held)
        self._is_proving = memory_latency.releases_what_it_holds(instance)

    @property
    def lower(self) -> int:
        """The best bound so far."""
        return int(self.best.lower)

    def bound(self, ticks: int) -> None:
        """Claim a bound, unless the search may have left out schedules."""
        if self._is_proving:
            self.best.bound(Claim(KIND, float(ticks)))

    def solution(self, schedule: Schedule) -> None:
        """Report a schedule."""
        try:
            self.best.solution(schedule)
        except InvalidInputError:
            # Where blocks release what has not been allocated, cutting off a steady state at its
            # ends may leave too little memory.
            if self._is_proving:
                raise


def run(
    instance: MicrobatchInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
) -> None:
    """Report schedules and bounds.

    Raises
    ------
    UnsupportedError
        If no schedule is found because of the memory.
    """
    reports = _Reports(instance, progress)
    if instance.micro_batches:
        _makespan(instance, budget, reports)
    else:
        _period(instance, budget, reports)
    if math.isinf(reports.best.objective) and not budget.is_spent():
        raise UnsupportedError(
            "no schedule keeps within the memory_latency, as far as this method sees"
        )


def _period(instance: MicrobatchInstance, budget: Budget, reports: _Reports) -> None:
    """Search for the least period."""

    def on_state(state: SteadyState) -> None:
        reports.solution(state.schedule)
        polished = _polished(instance, state, budget)
        if polished is not state.schedule:
            reports.solution(polished)

    search = PeriodSearch(instance, reports.lower, on_state, reports.bound)
    search.run(budget, budget.remaining())


def _makespan(instance: MicrobatchInstance, budget: Budget, reports: _Reports) -> None:
    """Search for the least makespan: periodic schedules first, then all blocks one by one."""
    known: list[IntArray] = []

    def on_starts(starts: IntArray) -> None:
        before = reports.best.objective
        reports.solution(Schedule(starts))
        if reports.best.objective < before:
            known.append(starts)

    def on_state(state: SteadyState) -> None:
        for schedule in (
            state.expanded(instance.micro_batches),
            _polished(instance, state, budget),
        ):
            if schedule.micro_batches <= instance.micro_batches:
                on_starts(
                    left_shifted(instance.layout, schedule.starts_for(instance.micro_batches))
                )

    steady = MicrobatchInstance(instance.layout, instance.capacity)
    least = device_load.certificate(steady, "modulo").bound
    PeriodSearch(steady, least, on_state, lambda _: None).run(
        budget, PERIOD_SHARE * budget.remaining()
    )
    layout = instance.layout
    jobs = instance.micro_batches * instance.nodes
    if reports.best.is_proven or budget.is_spent() or jobs > MOST_BLOCKS:
        return
    total = sum(block.duration for block in layout.blocks)
    start = known[-1] if known else None
    horizon = makespan(layout, start) if start is not None else instance.micro_batches * total
    search = MakespanSearch(instance, reports.lower, horizon, on_starts, reports.bound, start)
    search.run(budget.remaining(), budget.threads)


def _polished(instance: MicrobatchInstance, state: SteadyState, budget: Budget) -> Schedule:
    """Return a schedule of the same period with less memory and short ends."""
    if len(set(state.stages)) == 1:
        # There is neither warm-up nor cool-down.
        return state.schedule
    state = with_less_memory(instance, state, _polish_seconds(budget), budget.threads)
    return completed(instance, state, _polish_seconds(budget), budget.threads)


def _polish_seconds(budget: Budget) -> float:
    return min(POLISH_SECONDS, POLISH_SHARE * budget.remaining())


@dataclass
class PeriodSearch:
    """Search for the least period from both sides: lower bounds and steady states.

    Attributes
    ----------
    lower
        No period below is possible.
    best
        The steady state of the least period so far.
    on_state
        Called with each steady state that is better than those before.
    on_bound
        Called with each new lower bound.
    """

    instance: MicrobatchInstance
    lower: int
    on_state: Callable[[SteadyState], None]
    on_bound: Callable[[int], None]
    best: SteadyState | None = None

    def run(self, budget: Budget, seconds: float) -> None:
        """Search for the given number of seconds."""
        until = budget.spent() + seconds
        start = one_by_one(self.instance)
        upper = sum(block.duration for block in self.instance.layout.blocks)
        if start is not None:
            self._found(start)
            upper = start.period
        impossible: set[int] = set()
        share, is_linear = FIRST_SECONDS, False
        while self.lower < upper or self.best is None:
            for shortest, longest in list(self._ranges(upper, impossible)):
                if longest < self.lower:
                    continue
                left = min(until - budget.spent(), budget.remaining())
                if left <= 0:
                    return
                model = SteadyStateModel(self.instance, shortest, longest)
                if shortest < longest:
                    model.minimise_period()
                outcome = model.solve(min(share, left), budget.threads, is_linear=is_linear)
                if outcome.verdict == "impossible":
                    impossible.update({shortest} if shortest == longest else ())
                    if longest + 1 == upper and shortest == self.lower:
                        self._raise(upper)
                elif outcome.bound > shortest == self.lower:
                    self._raise(outcome.bound)
                while self.lower in impossible:
                    self._raise(self.lower + 1)
                if outcome.state is not None:
                    self._found(outcome.state)
                    upper = outcome.state.period
                    break
            if self.best is None and self.lower >= upper:
                return
            if is_linear:
                share *= 2
            is_linear = not is_linear

    def _ranges(self, upper: int, impossible: set[int]) -> Iterator[tuple[int, int]]:
        """Yield the periods to search, the shortest first."""
        last = upper if self.best is None else upper - 1
        if last - self.lower < FEW_PERIODS:
            for period in range(self.lower, last + 1):
                if period not in impossible:
                    yield period, period
        else:
            if self.lower not in impossible:
                yield self.lower, self.lower
            yield self.lower, last

    def _found(self, state: SteadyState) -> None:
        self.best = state
        self.on_state(state)

    def _raise(self, bound: int) -> None:
        self.lower = bound
        self.on_bound(bound)


def completed(
    instance: MicrobatchInstance, state: SteadyState, seconds: float, threads: int
) -> Schedule:
    """Return a schedule with the steady state's repetend and the shortest makespan found.

    It is for as many micro-batches as the repetend has members of, at the least.
    """
    plain = state.schedule
    # Larger models are not solved: the expanded steady state is the result.
    if seconds <= 0 or plain.micro_batches * instance.nodes > 4000:
        return plain
    model = _CompletionModel(instance, state, plain)
    model.add_dependencies()
    for device in range(instance.layout.devices):
        model.add_device(device)
    model.minimise_makespan()
    starts = model.solve(seconds, threads)
    if starts is None:
        return plain
    assert plain.repetend is not None
    return Schedule(frozen(starts), Repetend(state.period, plain.repetend.members))


class _CompletionModel:
    """CP-SAT model of the blocks before and after one repetition, and of when that begins.

    The blocks of the repetition follow it by their phases; the others are free.
    """

    def __init__(self, instance: MicrobatchInstance, state: SteadyState, plain: Schedule) -> None:
        assert plain.repetend is not None
        self._instance = instance
        self._blocks = instance.layout.blocks
        self._members = plain.repetend.members.tolist()
        self._count, self._period = plain.micro_batches, state.period
        self._model = model = new_model()
        self._horizon = horizon = makespan(instance.layout, plain.starts)
        self._repetition = model.new_int_var(0, horizon, "repetition")
        self._phase = [start % self._period for start in state.starts]
        self._first = [self._repetition + o for o in self._phase]
        self._free = {
            (m, i): model.new_int_var(0, horizon, f"{i} of {m}")
            for m, i in itertools.product(range(self._count), range(len(self._blocks)))
            if m != self._members[i]
        }
        for (m, i), start in self._free.items():
            model.add_hint(start, int(plain.starts[m, i]))
            if (m + 1, i) in self._free:
                model.add(start + self._blocks[i].duration <= self._free[m + 1, i])

    def add_dependencies(self) -> None:
        """Add precedence constraints that hold for any number of repetitions."""
        first, free, members = self._first, self._free, self._members
        for u, v in self._instance.layout.dag.edge_pairs().tolist():
            later: Any
            earlier: Any
            for m, r in itertools.product(range(self._count), range(self._count)):
                # Micro-batch m + r, if r more repetitions shift what comes after the repetend.
                if m < members[v] and r:
                    continue
                later = first[v] if m == members[v] else free[m, v]
                if m + r < members[u]:
                    earlier = free[m + r, u]
                elif m > members[u]:
                    earlier = free[m, u] + r * self._period
                else:
                    earlier = first[u] + (m + r - members[u]) * self._period
                ticks = self._blocks[u].duration
                self._model.add(earlier + ticks <= later + r * self._period)

    def add_device(self, device: int) -> None:
        """Add a device's constraints: warm-up and cool-down beside the repetition, memory."""
        blocks, members = self._blocks, self._members
        here = self._instance.layout.on_device[device]
        begins = min((self._phase[i] for i in here), default=0)
        ends = max((self._phase[i] + blocks[i].duration for i in here), default=0)
        between = sum(blocks[i].memory * members[i] for i in here)
        for before in (True, False):
            part = [
                (self._free[m, i], blocks[i])
                for m, i in itertools.product(range(self._count), here)
                if m != members[i] and (m < members[i]) == before
            ]
            if not part:
                continue
            self._model.add_no_overlap(
                self._model.new_fixed_size_interval_var(start, block.duration, "")
                for start, block in part
            )
            for start, block in part:
                if before:
                    self._model.add(start + block.duration <= self._repetition + begins)
                else:
                    self._model.add(start >= self._repetition + ends)
            changes: list[tuple[Any, int]] = [
                (start, block.memory) for start, block in part if block.memory
            ]
            if not before:
                changes.append((self._model.new_constant(0), between))
            if changes:
                times, amounts = zip(*changes, strict=True)
                self._model.add_reservoir_constraint(
                    times, amounts, -sum(map(abs, amounts)), self._instance.capacity[device]
                )

    def minimise_makespan(self) -> None:
        """Set the objective: the end of the last block."""
        length = self._model.new_int_var(0, self._horizon, "makespan")
        for repeated, block in zip(self._first, self._blocks, strict=True):
            self._model.add(repeated + block.duration <= length)
        for (_, i), start in self._free.items():
            self._model.add(start + self._blocks[i].duration <= length)
        self._model.minimize(length)

    def solve(self, seconds: float, threads: int) -> IntArray | None:
        """Return the starts, shape (N, K), or None if none were found."""
        from ortools.sat.python import cp_model

        solver = new_solver(seconds, threads)
        if solve(solver, self._model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        starts = np.array([[solver.value(start) for start in self._first]] * self._count)
        for (m, i), start in self._free.items():
            starts[m, i] = solver.value(start)
        return starts


@dataclass(frozen=True)
class MakespanSearch:
    """Search for the least makespan of given micro-batches, all blocks in one model.

    Attributes
    ----------
    bound
        No makespan is below this one.
    horizon
        When all blocks have to have ended.
    on_starts, on_bound
        Called with each better solution, start times of shape (N, K), and with each better bound.
    known
        Start times to begin at, if there are any.
    """

    instance: MicrobatchInstance
    bound: int
    horizon: int
    on_starts: Callable[[IntArray], None]
    on_bound: Callable[[int], None]
    known: IntArray | None = None

    def run(self, seconds: float, threads: int) -> None:
        """Solve the model within a time limit, and report improvements."""
        model = new_model()
        from ortools.sat.python import cp_model

        instance, on_starts = self.instance, self.on_starts
        layout = instance.layout
        blocks = layout.blocks
        jobs = list(itertools.product(range(instance.micro_batches), range(len(blocks))))
        start = {job: model.new_int_var(0, self.horizon, f"{job}") for job in jobs}
        length = model.new_int_var(self.bound, self.horizon, "makespan")
        for m, i in jobs:
            model.add(start[m, i] + blocks[i].duration <= length)
            # [TESSEL24], Property IV.1; a device runs one block at a time.
            if m:
                model.add(start[m - 1, i] + blocks[i].duration <= start[m, i])
            if self.known is not None:
                model.add_hint(start[m, i], int(self.known[m, i]))
        for m, (u, v) in itertools.product(
            range(instance.micro_batches), layout.dag.edge_pairs().tolist()
        ):
            model.add(start[m, u] + blocks[u].duration <= start[m, v])
        for device, here in enumerate(layout.on_device):
            on_device = [(m, i) for m, i in jobs if i in here]
            model.add_no_overlap(
                model.new_fixed_size_interval_var(start[m, i], blocks[i].duration, "")
                for m, i in on_device
            )
            changes = [(start[m, i], blocks[i].memory) for m, i in on_device if blocks[i].memory]
            if changes:
                times, amounts = zip(*changes, strict=True)
                model.add_reservoir_constraint(
                    times, amounts, -sum(map(abs, amounts)), instance.capacity[device]
                )
        model.minimize(length)

        class Report(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                found = np.zeros((instance.micro_batches, len(blocks)), dtype=np.int64)
                for job, variable in start.items():
                    found[job] = self.value(variable)
                on_starts(left_shifted(instance.layout, found))

        solver = new_solver(seconds, threads)
        solver.best_bound_callback = lambda value: self.on_bound(round(value))
        status = solve(solver, model, Report())
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self.on_bound(round(solver.best_objective_bound))


def with_less_memory(
    instance: MicrobatchInstance, state: SteadyState, seconds: float, threads: int
) -> SteadyState:
    """Return a steady state of the same period with less peak memory, if one is found.

    Then it has the least sum over all devices, and then the fewest stages, that were found. Whether
    a capacity suffices is decided much faster than a least one is found.
    """

    def model(capacity: int) -> SteadyStateModel:
        capped = tuple(min(capacity, most) for most in instance.capacity)
        return SteadyStateModel(
            MicrobatchInstance(instance.layout, capped), state.period, state.period
        )

    until = time.monotonic() + seconds
    # Each search gets this share of the time left, so that a stuck one leaves some to the rest.
    share = 0.25

    def left() -> float:
        return share * max(0.0, until - time.monotonic())

    low = max(
        least_capacity(instance, state.period),
        *(block.memory for block in instance.layout.blocks),
    )
    high = _fullest(instance, state)
    while low < high:
        middle = (low + high) // 2
        found = model(middle).solve(left(), threads, is_linear=True).state
        if found is None:
            low = middle + 1
        else:
            state, high = found, _fullest(instance, found)
    last = model(high)
    last.minimise_memory()
    last.hint(state)
    return last.solve(left() / share, threads, is_linear=True).state or state


def _fullest(instance: MicrobatchInstance, state: SteadyState) -> int:
    return max(peak_memory(instance.layout, state.expanded(2 * max(state.stages) + 2).starts))
