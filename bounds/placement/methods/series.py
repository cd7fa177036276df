"""`series`: what modules take between operators that paths pass, added up along the model.

See `series.chain` for what a module is, `boundmark.bounds.checker.placement.module_search` for how
it is searched, and `series.closing_in` for which searches are made.
"""

from boundmark.bounds.best import Best
from boundmark.bounds.placement.series.closing_in import ClosingIn
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

# Of the time, for searches; the rest is for making the last certificate short enough to check.
SEARCHING = 0.85


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, known_cost: int = 0
) -> None:
    """Report certificates, and the modules' schedules put together where they fit.

    Raises
    ------
    UnsupportedError
        If the instance is too large for the checker.
    """
    best = Best.before(instance, progress)
    if known_cost:
        best.objective = min(best.objective, known_cost)
    search(ClosingIn.of(instance, budget, best, "series"), budget)


def search(closing: ClosingIn, budget: Budget) -> None:
    """Report what modules prove in the time given."""
    closing.budget = budget.part(SEARCHING)
    closing.run()
