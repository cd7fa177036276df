"""`placement-certify`: the cheap bounds first, then prices and modules; no more than it takes.

Only what is better than everything before is reported, and nothing is begun once the best bound is
the makespan of the best schedule, or of one that is known.
"""

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
from boundmark.problems.placement import PlacementInstance


class Step(NamedTuple):
    """A method, and the part of the time that is left which it gets at most."""

    run: Callable[[PlacementInstance, Budget, int, Progress], None]
    fraction: float


STEPS = (
    Step(critical_path.run, 1.0),
    Step(assignment_load.run, 0.1),
    Step(interval_load.run, 0.25),
    Step(path_prices.run, 0.4),
    Step(series.run, 1.0),
)


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, *, known_cost: int
) -> None:
    """Report certificates, and schedules where they are found on the way."""
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    for step in STEPS:
        if best.is_proven or (step is not STEPS[0] and budget.is_spent()):
            return
        # A graph beyond the checker's limits: what came before stands.
        with suppress(UnsupportedError):
            step.run(instance, budget.part(step.fraction), seed, best)


METHOD = Method(
    name="placement-certify",
    problem="placement",
    kind="bound",
    summary="The best certificate in the time given: paths, loads, prices, then modules.",
    run=run,
    params={"known_cost": 0},
    known_cost="known_cost",
    warm=("scipy.sparse",),
)
