"""Partitions that a solver finds, reported as they improve."""

import math

from boundmark.bounds.pipeline.mip.floating_model import FloatArray
from boundmark.bounds.pipeline.mip.superblock_columns import SuperblockColumns
from boundmark.problems.method import Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


class Incumbents:
    """Reports improving partitions and knows the best one's cost."""

    def __init__(self, instance: PipelineInstance, progress: Progress) -> None:
        self._instance = instance
        self._progress = progress
        self.cost = math.inf

    def report(self, partition: Partition) -> None:
        """Report a partition if it is the best so far."""
        cost = self._instance.objective(partition)
        if cost < self.cost:
            self.cost = cost
            self._progress.solution(partition)

    def report_values(self, columns: SuperblockColumns, values: FloatArray) -> None:
        """Report the partition that a solver's values mean."""
        self.report(columns.partition(values))
