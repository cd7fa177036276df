"""`balanced-work`: stages of even work in topological order; transfers and overflow are ignored."""

import numpy as np

from boundmark.heuristics.pipeline.slicing.best_slicing import slice_order
from boundmark.problems.dag import Dag
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Slice the graph's own topological order so that the largest work of a stage is smallest."""
    graph = instance.graph
    free = np.zeros(instance.nodes, np.int64)
    only_work = PipelineGraph.without_parameters(
        Dag.from_edges(instance.nodes, ()), graph.work, free, graph.names, graph.tick
    )
    order = graph.dag.topological_order
    _, ends = slice_order(PipelineInstance(only_work, instance.k), order)
    progress.solution(Partition.from_slices(order, ends))
