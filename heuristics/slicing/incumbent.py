"""The best plan that a search has found so far."""

from functools import partial

import numpy as np

from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.slicing.plan_kernels import all_ticks, excess_memory, slicing_arrays
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Progress
from boundmark.problems.slicing import SlicingInstance, SlicingPlan


class PlanIncumbent(Incumbent[SlicingPlan]):
    """Evaluate plans, keep the best one and report every improvement.

    Attributes
    ----------
    arrays
        The instance as kernels read it.
    """

    def __init__(self, instance: SlicingInstance, progress: Progress) -> None:
        super().__init__(progress)
        self.arrays = slicing_arrays(instance)
        self._ticks = np.empty(instance.nodes, np.int64)

    def evaluate(self, vectors: IntArray) -> bool:
        """Offer a plan if it fits into memory; return whether it fits."""
        if excess_memory(self.arrays, vectors):
            return False
        latency = all_ticks(self.arrays, vectors, self._ticks)
        self.offer(latency, partial(SlicingPlan, vectors))
        return True

    def require(self, vectors: IntArray, what: str) -> None:
        """Offer a plan that has to fit into memory.

        Raises
        ------
        UnsupportedError
            If it does not fit into memory.
        """
        if not self.evaluate(vectors):
            raise UnsupportedError(f"{what} does not fit into the devices' memory.")
