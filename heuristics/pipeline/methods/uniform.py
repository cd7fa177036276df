"""`uniform`: equal numbers of nodes in topological order, as people cut models by hand."""

import numpy as np

from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Cut the graph's own topological order into k stages of n/k nodes, rounded up or down."""
    ends = np.arange(1, instance.k + 1) * instance.nodes // instance.k
    progress.solution(Partition.from_slices(instance.graph.dag.topological_order, ends))
