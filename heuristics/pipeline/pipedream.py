"""`pipedream`: the planner of PipeDream ([PIPEDREAM19], Section 3.1) as a baseline.

[MTPP24], Section 6, names how it differs from max-throughput partitioning:

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
from numba import types

from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, internal
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph


def run(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Report the best plan for the graph's own topological order."""
    graph = instance.graph
    order = graph.dag.topological_order
    ends = best_relayed_segmentation(
        graph.work[order], crossing_transfer(graph, order), min(instance.k, instance.nodes)
    )
    progress.solution(Partition.from_segments(order, ends))


def crossing_transfer(graph: PipelineGraph, order: IntArray) -> IntArray:
    """Return the ticks of the tensors that cross the cut before each position, shape (n + 1,)."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    last_use = position.copy()
    np.maximum.at(last_use, graph.dag.sources, position[graph.dag.targets])
    change = np.zeros(len(order) + 2, np.int64)
    np.add.at(change, position + 1, graph.transfer)
    np.add.at(change, last_use + 1, -graph.transfer)
    crossing: IntArray = np.cumsum(change)[: len(order) + 1]
    return crossing


_ROW = types.int64[::1]
_UNREACHED = 2**40


@internal([types.int64(_ROW, _ROW, types.int64, _ROW)])
def _fewest_stages(
    work_before: IntArray, crossing: IntArray, threshold: int, fewest: IntArray
) -> int:
    positions = len(work_before)
    fewest[0] = 0
    first = 0
    for end in range(1, positions):
        while first < end and work_before[end] - work_before[first] > threshold:
            first += 1
        room = threshold - crossing[end]
        cuts, before = crossing[first:end], fewest[first:end]
        best = _UNREACHED
        for index in range(cuts.size):
            best = min(best, before[index] if cuts[index] <= room else _UNREACHED)
        fewest[end] = best + 1
    return int(fewest[positions - 1])


@compiled([_ROW(INTEGERS, INTEGERS, types.int64)])
def best_relayed_segmentation(work: IntArray, crossing: IntArray, k: int) -> IntArray:
    """Return the ends of the best segmentation into at most k stages that relay their data."""
    nodes = len(work)
    cuts = crossing.copy()
    work_before = np.zeros(nodes + 1, np.int64)
    for index in range(nodes):
        work_before[index + 1] = work_before[index] + work[index]
    fewest = np.empty(nodes + 1, np.int64)
    low, high = np.int64(0), work_before[nodes]
    while low < high:
        middle = low + (high - low) // 2
        if _fewest_stages(work_before, cuts, middle, fewest) <= k:
            high = middle
        else:
            low = middle + 1
    stages = _fewest_stages(work_before, cuts, high, fewest)
    ends = np.empty(stages, np.int64)
    end = nodes
    for stage in range(stages - 1, -1, -1):
        ends[stage] = end
        first = end - 1
        while (
            fewest[first] != stage
            or max(work_before[end] - work_before[first], cuts[first] + cuts[end]) > high
        ):
            first -= 1
        end = first
    return ends
