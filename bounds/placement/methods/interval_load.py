"""`interval-load`: paths and loads between the operators that paths have to pass."""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.loads.dominators import immediate_dominators
from boundmark.bounds.placement.loads.intervals import MOST_STEPS, Interval, bound_interval
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.placement import PlacementGraph, PlacementInstance

KIND = "interval-load/1"

# Of the time, for intervals inside; the rest is for the whole.
INSIDE = 0.7


def intervals_inside(graph: PlacementGraph) -> list[tuple[int, int]]:
    """Return pairs (first, last): where paths meet, and the last operator that they all passed."""
    dag = graph.dag
    order = dag.topological_order.tolist()
    producers = [dag.producers_of(v).tolist() for v in range(graph.nodes)]
    sinks = [v for v in range(graph.nodes) if not len(dag.consumers_of(v))]
    dominator = immediate_dominators(order, [*producers, sinks])
    pairs = [(dominator[v], v) for v in order if len(producers[v]) > 1]
    if len(sinks) > 1:
        pairs.append((dominator[graph.nodes], OUTSIDE))
    return [pair for pair in pairs if pair[0] != OUTSIDE]


def run(
    instance: PlacementInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the longest path, the bound of the whole schedule's load, then with intervals inside.

    Raises
    ------
    UnsupportedError
        If the checker would take too long.
    """
    read = checker.check_instance(instance.to_json())
    network = Network(read)
    best = -1
    for part in (budget.part(0.0), budget.part(1 - INSIDE)):
        whole = bound_interval(network, OUTSIDE, OUTSIDE, part)
        if whole is None:
            raise UnsupportedError("the graph is too large for the checker.")
        best = _report(instance, [whole], progress, best)
    intervals = proven_inside(instance.graph, network, budget.part(INSIDE))
    if intervals:
        again = bound_interval(network, OUTSIDE, OUTSIDE, budget)
        if again is not None:
            _report(instance, [*intervals, again], progress, best)


def proven_inside(graph: PlacementGraph, network: Network, budget: Budget) -> list[Interval]:
    """Return the intervals of which loads prove more than paths, and add them to the network."""
    intervals: list[Interval] = []
    steps = MOST_STEPS
    for first, last in intervals_inside(graph):
        if budget.is_spent():
            break
        interval = bound_interval(network, first, last, budget, steps)
        if interval is not None and interval.rows:
            network.add(interval.jump)
            intervals.append(interval)
            steps -= interval.steps
    return intervals


def _report(
    instance: PlacementInstance, intervals: list[Interval], progress: Progress, best: int
) -> int:
    bound = intervals[-1].jump.least[0][0]
    if bound > best:
        payload = {"intervals": [interval.to_json() for interval in intervals]}
        progress.bound(Certificate.of(instance, KIND, bound, payload, "interval-load"))
    return max(best, bound)
