"""`modulo`: bounds first, then ever better schedules until one is proven optimal."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from boundmark.bounds.best import Best
from boundmark.bounds.microbatch import device_load, memory_latency
from boundmark.bounds.microbatch.modulo_models import (
    MakespanSearch,
    completed,
    with_less_memory,
)
from boundmark.bounds.microbatch.steady_state import SteadyState, SteadyStateModel, one_by_one
from boundmark.problems.arrays import IntArray
from boundmark.problems.certificate import Claim
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import left_shifted, makespan

KIND = "modulo/1"


@dataclass(frozen=True)
class ModuloSettings:
    """Settings of `modulo`: how time is divided, and how periods are searched.

    Attributes
    ----------
    polish_share
        Part of the time left for less memory, and for shorter ends, at a given period.
    polish_seconds
        Seconds for either, at most: they change nothing about the objective.
    period_share
        Part of the time for the period where the makespan counts.
    few_periods
        Number of periods between the bounds up to which each gets a search of its own: a
        constant period makes a much easier model than a variable one.
    first_seconds
        Seconds of the first searches. Those that decide nothing are repeated with as many
        and with linear relaxations, then with twice as many without, and so on.
    most_blocks
        Number of blocks of all micro-batches up to which they are searched one by one; with
        more, building the model takes seconds, and its search gets nowhere.
    """

    polish_share: float = 0.015
    polish_seconds: float = 5.0
    period_share: float = 0.3
    few_periods: int = 256
    first_seconds: float = 1.0
    most_blocks: int = 1500


class _Reports:
    """Reporter of schedules and bounds; starts with the cheap bounds."""

    def __init__(self, instance: MicrobatchInstance, progress: Progress) -> None:
        # Of schedules with the same period, a later one has less memory or shorter ends.
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
    settings: ModuloSettings = ModuloSettings(),
) -> None:
    """Report schedules and bounds.

    Raises
    ------
    UnsupportedError
        If no schedule is found because of the memory.
    """
    reports = _Reports(instance, progress)
    if instance.micro_batches:
        _makespan(instance, budget, reports, settings)
    else:
        _period(instance, budget, reports, settings)
    if math.isinf(reports.best.objective) and not budget.is_spent():
        raise UnsupportedError(
            "no schedule keeps within the memory_latency, as far as this method sees"
        )


def _period(
    instance: MicrobatchInstance, budget: Budget, reports: _Reports, settings: ModuloSettings
) -> None:
    """Search for the least period."""

    def on_state(state: SteadyState) -> None:
        reports.solution(state.schedule)
        polished = _polished(instance, state, budget, settings)
        if polished is not state.schedule:
            reports.solution(polished)

    search = PeriodSearch(instance, reports.lower, on_state, reports.bound, settings)
    search.run(budget, budget.remaining())


def _makespan(
    instance: MicrobatchInstance, budget: Budget, reports: _Reports, settings: ModuloSettings
) -> None:
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
            _polished(instance, state, budget, settings),
        ):
            if schedule.micro_batches <= instance.micro_batches:
                on_starts(
                    left_shifted(instance.layout, schedule.starts_for(instance.micro_batches))
                )

    steady = MicrobatchInstance(instance.layout, instance.capacity)
    least = device_load.certificate(steady, "modulo").bound
    PeriodSearch(steady, least, on_state, lambda _: None, settings).run(
        budget, settings.period_share * budget.remaining()
    )
    layout = instance.layout
    jobs = instance.micro_batches * instance.nodes
    if reports.best.is_proven or budget.is_spent() or jobs > settings.most_blocks:
        return
    total = sum(block.duration for block in layout.blocks)
    start = known[-1] if known else None
    horizon = makespan(layout, start) if start is not None else instance.micro_batches * total
    search = MakespanSearch(instance, reports.lower, horizon, on_starts, reports.bound, start)
    search.run(budget.remaining(), budget.threads)


def _polished(
    instance: MicrobatchInstance, state: SteadyState, budget: Budget, settings: ModuloSettings
) -> Schedule:
    """Return a schedule of the same period with less memory and short ends."""
    if len(set(state.stages)) == 1:
        # There is neither warm-up nor cool-down.
        return state.schedule
    state = with_less_memory(instance, state, _polish_seconds(budget, settings), budget.threads)
    return completed(instance, state, _polish_seconds(budget, settings), budget.threads)


def _polish_seconds(budget: Budget, settings: ModuloSettings) -> float:
    return min(settings.polish_seconds, settings.polish_share * budget.remaining())


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
    settings: ModuloSettings = ModuloSettings()
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
        share, is_linear = self.settings.first_seconds, False
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
        if last - self.lower < self.settings.few_periods:
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
