"""Searches for the least period for which there is a steady state."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from boundmark.bounds.microbatch.modulo.sequential import one_by_one
from boundmark.bounds.microbatch.modulo.steady_state import SteadyState, SteadyStateModel
from boundmark.problems.method import Budget
from boundmark.problems.microbatch import MicrobatchInstance

# With as many periods between the bounds, each gets a search of its own: a constant period makes a
# much easier model than a variable one.
FEW_PERIODS = 256

# Seconds of the first searches. Those that decide nothing are repeated with as many and with linear
# relaxations, then with twice as many without, and so on.
FIRST_SECONDS = 1.0


@dataclass
class PeriodSearch:
    """Raises a lower bound and finds steady states until they meet.

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
        """Search for as long."""
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
