"""`bfs-order`: breadth first: the operator that has been executable for longest."""

from typing import Any

from boundmark.heuristics.ordering.orders.constructed import breadth_first
from boundmark.heuristics.ordering.orders.incumbent import Incumbent
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the order."""
    Incumbent(instance, progress).offer(breadth_first(instance.graph.dag))
