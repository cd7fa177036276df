"""`pipedream`: the planner of PipeDream ([PIPEDREAM19], Section 3.1) as a baseline.

[MTPP24], Section 6, names its differences; here they mean:

1. One topological order, and stages that form a path. Data only flows between neighbours, so a
   tensor that is needed further on is handed from stage to stage and costs something at every cut
   that it crosses.
2. Communication overlaps with computation: a stage costs the greater of its work and of the data
   that enters and leaves it, instead of their sum.
3. No replicated stages: that is for training.

The plan is optimal for this model; it is then judged, like any other, by the problem's objective.
Parameters that do not fit are not part of the model.
"""

import numpy as np

from boundmark.heuristics.pipeline.kernels.relayed import best_relayed_slicing
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the best plan for the graph's own topological order."""
    graph = instance.graph
    order = graph.dag.topological_order
    ends = best_relayed_slicing(
        graph.work[order], crossing_transfer(graph, order), min(instance.k, instance.nodes)
    )
    progress.solution(Partition.from_slices(order, ends))


def crossing_transfer(graph: PipelineGraph, order: IntArray) -> IntArray:
    """Return ticks for the tensors that cross the cut before each position, shape (n + 1,)."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    last_use = position.copy()
    np.maximum.at(last_use, graph.dag.sources, position[graph.dag.targets])
    change = np.zeros(len(order) + 2, np.int64)
    np.add.at(change, position + 1, graph.transfer)
    np.add.at(change, last_use + 1, -graph.transfer)
    crossing: IntArray = np.cumsum(change)[: len(order) + 1]
    return crossing
