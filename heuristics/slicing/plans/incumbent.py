"""The best plan so far, and what it takes to offer another one."""

import numpy as np

from boundmark.heuristics.slicing.kernels.arrays import slicing_arrays
from boundmark.heuristics.slicing.kernels.plans import all_ticks, excess_memory
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Progress
from boundmark.problems.slicing import SlicingInstance, SlicingPlan

# More than any latency.
NO_LATENCY = 2**60


class Incumbent:
    """Evaluates plans, keeps the best one and reports every improvement.

    Attributes
    ----------
    latency
        Of the best plan, in ticks; `NO_LATENCY` before there is one that fits into memory.
    vectors
        Of the best plan, shape (N, n + 1); empty before there is one.
    """

    def __init__(self, instance: SlicingInstance, progress: Progress) -> None:
        self.instance = instance
        self.arrays = slicing_arrays(instance)
        self.latency = NO_LATENCY
        self.vectors: IntArray = np.empty((0, instance.graph.devices + 1), np.int64)
        self._progress = progress
        self._ticks = np.empty(instance.nodes, np.int64)

    def offer(self, vectors: IntArray) -> bool:
        """Keep and report a plan if it fits into memory and is the best; return whether it fits."""
        if excess_memory(self.arrays, vectors):
            return False
        latency = all_ticks(self.arrays, vectors, self._ticks)
        if latency < self.latency:
            self.latency, self.vectors = latency, vectors.copy()
            self._progress.solution(SlicingPlan(self.vectors))
        return True

    def require(self, vectors: IntArray, what: str) -> None:
        """Offer a plan.

        Raises
        ------
        UnsupportedError
            If it does not fit into memory.
        """
        if not self.offer(vectors):
            raise UnsupportedError(f"{what} does not fit into the devices' memory.")
