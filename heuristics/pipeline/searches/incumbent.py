"""The best partition that a search has found so far."""

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Progress
from boundmark.problems.pipeline import Partition

# More than any partition costs, and so far from the end of 64 bits that kernels can add to it.
NO_COST = 2**60


class Incumbent:
    """Keeps the best partition and reports every improvement.

    Attributes
    ----------
    cost
        Cost of the bottleneck stage; `NO_COST` before there is a partition.
    stages
        The stage of each node, shape (n,), where data only flows to later stages; empty before
        there is a partition.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.cost = NO_COST
        self.stages: IntArray = np.empty(0, np.int64)

    def offer(self, cost: int, stages: IntArray) -> bool:
        """Keep and report a partition if it is better; return whether it is."""
        is_better = cost < self.cost
        if is_better:
            partition = Partition(stages)
            self.cost, self.stages = cost, partition.stages
            self._progress.solution(partition)
        return is_better

    def offer_slices(self, cost: int, order: IntArray, ends: IntArray) -> bool:
        """Keep and report a sliced order if it is better; return whether it is."""
        return cost < self.cost and self.offer(cost, Partition.from_slices(order, ends).stages)
