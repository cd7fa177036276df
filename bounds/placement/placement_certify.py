"""`placement-certify`: the best certificate in the time given, by four bounds one after another."""

from contextlib import suppress

from boundmark.bounds.best import Best
from boundmark.bounds.placement import assignment_load, critical_path, interval_load
from boundmark.bounds.placement.series import method as series
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

# Each with the part of the time that is left which it may take. The first two take hardly any, and
# searched modules prove most on most models.
PARTS = (
    (critical_path.run, 1.0),
    (assignment_load.run, 0.1),
    (series.run, 0.8),
    (interval_load.run, 1.0),
)

# Part of the time for what does not look at the clock once it has begun, such as rounding and
# checks.
RESERVED = 0.03


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, *, known_cost: int
) -> None:
    """Report what is better than everything before, until the best schedule is proven optimal."""
    best = Best(instance, progress, passes_claims=False)
    if known_cost:
        best.objective = known_cost
    budget = budget.part(1 - RESERVED)
    for bound, fraction in PARTS:
        if best.is_proven or budget.is_spent():
            return
        # A method may refuse a graph beyond the checker's limits.
        with suppress(UnsupportedError):
            bound(instance, budget.part(fraction), seed, best)
