"""`greedy-order`: always the operator after which least is in memory."""

from typing import Any

from boundmark.heuristics.ordering.orders.constructed import smallest_increase
from boundmark.heuristics.ordering.orders.incumbent import Incumbent
from boundmark.problems.method import Budget, Progress
from boundmark.problems.ordering import OrderingInstance


def run(
    instance: OrderingInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the order."""
    Incumbent(instance, progress).offer(smallest_increase(instance))
