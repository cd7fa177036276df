"""`placement-certify`: the best certificate in the time given: cheap bounds, modules, prices.

Only what is better than everything before is reported, and nothing is begun once the best bound is
the makespan of the best schedule, or of one that is known.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from boundmark.bounds.best import Best
from boundmark.bounds.placement import assignment_load, critical_path, interval_load, path_prices
from boundmark.bounds.placement.series import method as series
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance


@dataclass(frozen=True)
class Step:
    """A method, and the part of the remaining time that it gets at first."""

    run: Callable[[PlacementInstance, Budget, int, Progress], None]
    fraction: float


def _search_and_price(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Search modules, then report the bound by prices over them."""
    best = Best.before(instance, progress)
    closing = series.ClosingIn.of(instance, budget, best, "series")
    # Where memory is short or the chain leaves something out, prices need time, too.
    closing = series.search(closing, budget.part(1.0 if closing.sees_all else 0.5))
    if not (closing.sees_all or best.is_proven or budget.is_spent()):
        path_prices.report_with_modules(instance, closing, budget, best)


@dataclass(frozen=True)
class PlacementCertifySettings:
    """Settings of `placement-certify`: its steps, each with its part of the remaining time.

    Attributes
    ----------
    cheap
        The first steps.
    prices, modules
        The last two steps; which comes first depends on the memory.
    reserved
        Part of the time for what does not look at the clock once it has begun, such as rounding
        and checks.
    """

    cheap: tuple[Step, ...] = (
        Step(critical_path.run, 1.0),
        Step(assignment_load.run, 0.1),
        Step(interval_load.run, 0.25),
    )
    prices: Step = Step(path_prices.run, 0.3)
    modules: Step = Step(_search_and_price, 1.0)
    reserved: float = 0.03


def _is_short(graph: PlacementGraph) -> bool:
    """Whether no device has room for all operators."""
    return bool(graph.memory.sum() > graph.capacity.max())


def steps(graph: PlacementGraph, settings: PlacementCertifySettings) -> tuple[Step, ...]:
    """Return the methods, the most worthwhile first.

    Prices see that memory is short, which modules do not; else modules say more.
    """
    prices, modules = settings.prices, settings.modules
    last = (prices, modules) if _is_short(graph) else (modules, prices)
    return (*settings.cheap, *last)


def run(
    instance: PlacementInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    known_cost: int,
    settings: PlacementCertifySettings = PlacementCertifySettings(),
) -> None:
    """Report certificates, and schedules where they are found on the way."""
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    budget = budget.part(1 - settings.reserved)
    waiting = deque(steps(instance.graph, settings))
    while waiting:
        step = waiting.popleft()
        if best.is_proven or (step is not settings.cheap[0] and budget.is_spent()):
            return
        part = budget.part(step.fraction)
        # A method may refuse a graph beyond the checker's limits.
        with suppress(UnsupportedError):
            step.run(instance, part, seed, best)
        if part.is_spent() and step.fraction < 1:
            # Other steps may leave time, for instance where modules are too large for searches.
            waiting.append(replace(step, fraction=1.0))
