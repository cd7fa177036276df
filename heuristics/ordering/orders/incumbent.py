"""The best order so far, and what it takes to offer another one."""

import numpy as np

from boundmark.heuristics.ordering.kernels.memory import peak_and_sum, tensors_of
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance

# More than any order costs.
NO_COST = 2**60


class Incumbent:
    """Costs orders, keeps the best one and reports every improvement.

    Attributes
    ----------
    cost
        Of the best order; `NO_COST` before there is one.
    order
        The best order, shape (n,); empty before there is one.
    tensors
        The instance as kernels read it.
    """

    def __init__(self, instance: OrderingInstance, progress: Progress) -> None:
        self.tensors = tensors_of(instance)
        self.cost = NO_COST
        self.order: IntArray = np.empty(0, np.int64)
        self._is_peak = instance.metric == "peak"
        self._progress = progress

    def offer(self, order: IntArray) -> int:
        """Return the cost of a topological order, and keep and report it if it is the best."""
        peak, total = peak_and_sum(order, self.tensors)
        cost = int(peak if self._is_peak else total)
        if cost < self.cost:
            self.cost, self.order = cost, frozen(order)
            self._progress.solution(ExecutionOrder(self.order))
        return cost
