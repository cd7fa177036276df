"""The best segmentation of an order ([MTPP24], Section 4.1), and methods that need only that.

`slicegraph` cuts the graph's own topological order, `random-T` tries T random ones (Appendix C.1).
"""

from functools import partial

import numpy as np

from boundmark.heuristics.incumbent import Incumbent
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.segmentation_kernels import best_segmentation, is_segmentable
from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.arrays import IntArray
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance


def segment_order(
    instance: PipelineInstance, order: IntArray, *, largest_table: int = 2**23
) -> tuple[int, IntArray]:
    """Cut the order into at most k stages so that the bottleneck stage is as cheap as possible.

    Exact.

    Parameters
    ----------
    order
        The nodes in a topological order, shape (n,).
    largest_table
        Entries of a table of (n + 1) k costs, at most, of 8 bytes each. Where it would be larger,
        thresholds are bisected in memory O(n + m), which takes longer and finds the same.

    Returns
    -------
    The cost of the bottleneck stage, and the position after the last node of each stage, ascending.
    """
    k = min(instance.k, instance.nodes)
    graph = kernel_graph(instance.graph)
    cost, ends = best_segmentation(order, graph, k, largest_table)
    return int(cost), ends


def has_segmentation(instance: PipelineInstance, order: IntArray, threshold: int) -> bool:
    """Return whether the order can be cut into at most k stages of cost <= threshold each.

    Several times cheaper than `segment_order`, most of all when the answer is no.
    """
    k = min(instance.k, instance.nodes)
    return bool(is_segmentable(order, kernel_graph(instance.graph), k, threshold))


def run_slicegraph(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress
) -> None:
    """Report the best segmentation of `Dag.topological_order`."""
    order = instance.graph.dag.topological_order
    _, ends = segment_order(instance, order)
    progress.solution(Partition.from_segments(order, ends))


def run_random(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, *, samples: int
) -> None:
    """Draw priorities from U(0, 1) and segment the orders that improve on the incumbent.

    With one seed, the orders of a smaller T are the first of a larger T.
    """
    generator = np.random.default_rng(seed)
    best: Incumbent[Partition] = Incumbent(progress)
    for number in range(samples):
        if number > 0 and budget.is_spent():
            return
        order = topological_order(instance.graph.dag, generator.random(instance.nodes))
        if has_segmentation(instance, order, best.cost - 1):
            cost, ends = segment_order(instance, order)
            best.offer(cost, partial(Partition.from_segments, order, ends))
