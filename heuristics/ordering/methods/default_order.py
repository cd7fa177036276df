"""`default-order`: the order of the model file, as far as that is topological ([KAHN62])."""

from typing import Any

from boundmark.heuristics.ordering.orders.incumbent import Incumbent
from boundmark.problems.method import Budget, Method, Progress
from boundmark.problems.ordering import OrderingInstance


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the order."""
    Incumbent(instance, progress).offer(instance.graph.dag.topological_order)


DEFAULT_ORDER = Method(
    name="default-order",
    problem="ordering",
    kind="heuristic",
    summary="The model file's own order: Kahn's, the smallest number first ([KAHN62]).",
    run=run,
)
