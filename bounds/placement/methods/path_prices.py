"""`path-prices`: paths, work and memory together, by the dual of one linear program.

Paths alone do not see that devices are full, and loads do not see what has to wait. Where memory is
short, operators have to be on slow devices, or tensors to be moved: prices of memory show how much
of that falls on the paths.
"""

from collections.abc import Sequence
from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.placement.instance import Instance
from boundmark.bounds.checker.placement.paths import Jump, Network
from boundmark.bounds.checker.placement.prices import path_prices
from boundmark.bounds.placement.methods.interval_load import proven_inside
from boundmark.bounds.placement.prices.arcs import arcs_of
from boundmark.bounds.placement.prices.program import best_prices
from boundmark.bounds.placement.prices.rounding import rounded
from boundmark.bounds.placement.series.certificate import affordable
from boundmark.bounds.placement.series.closing_in import ClosingIn
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementInstance

KIND = "path-prices/1"

# Of the time, for intervals.
INSIDE = 0.3

# Of searches in a certificate with modules: some seconds of the checker's time.
MOST_STEPS = 2**23


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report what prices prove, at first with what operators read only, then with intervals."""
    read = checker.check_instance(instance.to_json())
    best = Best.before(instance, progress)
    _report(instance, read, [], [], budget, best)
    if budget.is_spent() or best.is_proven:
        return
    jumps, documents = _inside(instance, read, budget)
    if jumps:
        _report(instance, read, jumps, documents, budget, best)


def report_with_modules(
    instance: PlacementInstance, closing: ClosingIn, budget: Budget, best: Best
) -> None:
    """Report what prices prove when paths also lead over modules that were searched.

    They see what a chain of modules does not: tensors that run past modules, operators beside the
    chain, and memory.
    """
    parts = affordable(closing.parts, MOST_STEPS)
    if parts:
        inside, proofs = _inside(instance, closing.read, budget)
        # Modules first: their searches were made without other intervals inside.
        jumps = [*(part.jump() for part in parts), *inside]
        documents = [*(part.to_json() for part in parts), *proofs]
        _report(instance, closing.read, jumps, documents, budget, best)


def _inside(
    instance: PlacementInstance, read: Instance, budget: Budget
) -> tuple[list[Jump], list[dict[str, Any]]]:
    """Return what loads prove of intervals, and their documents."""
    intervals = proven_inside(instance.graph, Network(read), budget.part(INSIDE))
    documents = [{**interval.to_json(), "searches": []} for interval in intervals]
    return [interval.jump for interval in intervals], documents


def _report(
    instance: PlacementInstance,
    read: Instance,
    jumps: Sequence[Jump],
    documents: Sequence[dict[str, Any]],
    budget: Budget,
    best: Best,
) -> None:
    """Report a certificate if the program is solved in the time that there is."""
    arcs = arcs_of(instance.graph, jumps)
    prices = best_prices(instance.graph, arcs, budget)
    if prices is None:
        return
    payload = {"intervals": list(documents), **rounded(instance.graph, arcs, prices)}
    bound = path_prices(read, payload)
    best.bound(Certificate.of(instance, KIND, bound, payload, "path-prices"))
