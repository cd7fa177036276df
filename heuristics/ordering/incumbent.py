"""The best execution order that a search has found so far."""

from functools import partial

from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.ordering.memory_kernels import peak_and_sum, tensors_of
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Progress
from boundmark.problems.ordering import ExecutionOrder, OrderingInstance


class OrderIncumbent(Incumbent[ExecutionOrder]):
    """Evaluate orders, keep the best one and report every improvement.

    Attributes
    ----------
    tensors
        The instance as kernels read it.
    """

    def __init__(self, instance: OrderingInstance, progress: Progress) -> None:
        super().__init__(progress)
        self.tensors = tensors_of(instance)
        self._is_peak = instance.metric == "peak"

    def evaluate(self, order: IntArray) -> int:
        """Return the cost of a topological order, and offer the order."""
        peak, total = peak_and_sum(order, self.tensors)
        cost = int(peak if self._is_peak else total)
        self.offer(cost, partial(ExecutionOrder, order))
        return cost
