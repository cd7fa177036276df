"""`placement-certify`: the cheap bounds first, then modules and prices; no more than it takes.

Only what is better than everything before is reported, and nothing is begun once the best bound is
the makespan of the best schedule, or of one that is known.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from boundmark.bounds.best import Best
from boundmark.bounds.placement.methods import (
    assignment_load,
    critical_path,
    interval_load,
    path_prices,
    series,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method, Progress
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
PRICES = Step(path_prices.run, 0.4)
MODULES = Step(series.run, 1.0)


def steps(graph: PlacementGraph) -> tuple[Step, ...]:
    """Return the methods in the order in which they are worth their time.

    Prices see that memory is short, which modules do not; else modules say more.
    """
    is_short = graph.memory.sum() > graph.capacity.max()
    return (*CHEAP, PRICES, MODULES) if is_short else (*CHEAP, MODULES, PRICES)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, *, known_cost: int
) -> None:
    """Report certificates, and schedules where they are found on the way."""
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
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


METHOD = Method(
    name="placement-certify",
    problem="placement",
    kind="bound",
    summary="The best certificate in the time given: paths, loads, prices, then modules.",
    run=run,
    params={"known_cost": 0},
    version=2,
    known_cost="known_cost",
    warm=("scipy.sparse",),
)
