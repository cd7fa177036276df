"""The best partition that a search has found so far."""

from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Progress
from boundmark.problems.pipeline import Partition


class Incumbent:
    """Keeps the best partition and reports every improvement.

    Attributes
    ----------
    cost
        Cost of the dearest stage.
    stages
        The stage of each node, shape (n,), where data only flows to later stages.
    """

    def __init__(self, progress: Progress, cost: int, stages: IntArray) -> None:
        self._progress = progress
        self._keep(cost, stages)

    def offer(self, cost: int, stages: IntArray) -> bool:
        """Return whether this partition is better; then it becomes the best one."""
        is_better = cost < self.cost
        if is_better:
            self._keep(cost, stages)
        return is_better

    def _keep(self, cost: int, stages: IntArray) -> None:
        partition = Partition(stages)
        self.cost, self.stages = cost, partition.stages
        self._progress.solution(partition)
