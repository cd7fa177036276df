"""`placement-certify`: the cheap bounds first, then modules and prices; no more than it takes.

Only what is better than everything before is reported, and nothing is begun once the best bound is
the makespan of the best schedule, or of one that is known.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from boundmark.bounds.best import Best
from boundmark.bounds.placement import assignment_load, critical_path, interval_load, path_prices
from boundmark.bounds.placement.series import method as series
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance


class Step(NamedTuple):
    """A method, and the part of the time that is left which it gets at first."""

    run: Callable[[PlacementInstance, Budget, int, Progress], None]
    fraction: float


CHEAP = (
    Step(critical_path.run, 1.0),
    Step(assignment_load.run, 0.1),
    Step(interval_load.run, 0.25),
)
PRICES = Step(path_prices.run, 0.3)

# Of the time, for what does not look at the clock once it has begun, such as rounding and checks.
RESERVED = 0.03

# Of the time for modules, for searches where memory is short or the chain leaves something out.
SEARCHING = 0.5


def _search_and_price(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Search modules, then report what prices prove with what was found of them."""
    best = Best.before(instance, progress)
    closing = series.ClosingIn.of(instance, budget, best, "series")
    series.search(closing, budget.part(1.0 if closing.sees_all else SEARCHING))
    if not (closing.sees_all or best.is_proven or budget.is_spent()):
        path_prices.report_with_modules(instance, closing, budget, best)


MODULES = Step(_search_and_price, 1.0)


def _is_short(graph: PlacementGraph) -> bool:
    """Whether no device has room for all operators."""
    return bool(graph.memory.sum() > graph.capacity.max())


def steps(graph: PlacementGraph) -> tuple[Step, ...]:
    """Return the methods in the order in which they are worth their time.

    Prices see that memory is short, which modules do not; else modules say more.
    """
    return (*CHEAP, PRICES, MODULES) if _is_short(graph) else (*CHEAP, MODULES, PRICES)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, *, known_cost: int
) -> None:
    """Report certificates, and schedules where they are found on the way."""
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    budget = budget.part(1 - RESERVED)
    waiting = deque(steps(instance.graph))
    while waiting:
        step = waiting.popleft()
        if best.is_proven or (step is not CHEAP[0] and budget.is_spent()):
            return
        part = budget.part(step.fraction)
        # A graph beyond the checker's limits: what came before stands.
        with suppress(UnsupportedError):
            step.run(instance, part, seed, best)
        if part.is_spent() and step.fraction < 1:
            # Where modules are too large to be searched, there may be time left for it.
            waiting.append(step._replace(fraction=1.0))
