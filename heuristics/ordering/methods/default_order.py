"""`default-order`: the order of the model file, as far as that is topological ([KAHN62])."""

from typing import Any

from boundmark.heuristics.ordering.orders.incumbent import Incumbent
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the order."""
    Incumbent(instance, progress).offer(instance.graph.dag.topological_order)
