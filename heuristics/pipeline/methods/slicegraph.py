"""`slicegraph`: the best slicing of the graph's own topological order ([MTPP24], Section 4.1)."""

from boundmark.heuristics.pipeline.slicing.best_slicing import slice_order
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the best slicing of `Dag.topological_order`."""
    order = instance.graph.dag.topological_order
    _, ends = slice_order(instance, order)
    progress.solution(Partition.from_slices(order, ends))
