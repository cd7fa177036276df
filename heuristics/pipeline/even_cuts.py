"""`uniform`, `balanced-work`, `pippy`: the topological order in even stages, as people cut."""

from bisect import bisect_left

import numpy as np

from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def run_uniform(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Cut into k stages of n/k nodes, rounded up or down."""
    ends = np.arange(1, instance.k + 1) * instance.nodes // instance.k
    progress.solution(Partition.from_segments(instance.graph.dag.topological_order, ends))


def run_balanced_work(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Minimise the largest work of a stage; ignore transfers and overflow."""
    order = instance.graph.dag.topological_order
    progress.solution(
        Partition.from_segments(order, even_ends(instance.graph.work[order], instance.k))
    )


def run_pippy(instance: PipelineInstance, budget: Budget, seed: int, progress: Progress) -> None:
    """Cut where the parameters of a stage would exceed 1/k of all, as PiPPy does.

    The rule is that of `split_into_equal_size` (pytorch/PiPPy, read in November 2026). Operators
    without parameters go with what comes before them. One with more than 1/k ends its stage, if
    that has no other parameters. There are k - 1 cuts at most: what is left is the last stage,
    however large. PiPPy goes through modules in the order in which they are called; this is the
    graph's own order. A graph without parameters is one stage.
    """
    order = instance.graph.dag.topological_order
    sizes = instance.graph.param_load[order].tolist()
    threshold = sum(sizes) // instance.k
    ends: list[int] = []
    held = 0
    for place, size in enumerate(sizes):
        if len(ends) == instance.k - 1:
            break
        if not size or held + size <= threshold:
            held += size
        elif not held:
            ends.append(place + 1)
        else:
            ends.append(place)
            held = size
    ends.append(len(order))
    progress.solution(Partition.from_segments(order, np.array(ends)))


def even_ends(work: IntArray, k: int) -> IntArray:
    """Cut a sequence into at most k runs so that the largest sum is smallest.

    Each run is as long as the least possible largest sum allows, which bisection finds.
    """
    total = np.cumsum(work)
    sums = range(max(int(work.max()), -(-int(total[-1]) // k)), int(total[-1]))
    enough = bisect_left(sums, True, key=lambda most: _ends(total, most, k)[-1] == len(work))
    return np.array(_ends(total, sums.start + enough, k))


def _ends(total: IntArray, threshold: int, k: int) -> list[int]:
    """Return the ends of up to k runs of sums up to a threshold, each as long as possible."""
    ends = [0]
    while len(ends) <= k and ends[-1] < len(total):
        before = int(total[ends[-1] - 1]) if ends[-1] else 0
        ends.append(int(np.searchsorted(total, before + threshold, side="right")))
    return ends[1:]
