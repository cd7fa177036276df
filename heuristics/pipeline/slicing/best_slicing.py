"""The best way to cut a topological order into stages ([MTPP24], Section 4.1)."""

from boundmark.heuristics.pipeline.kernels.graph import kernel_graph
from boundmark.heuristics.pipeline.kernels.slicing import best_slicing, is_sliceable
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline import PipelineInstance

# Per node. Going through a longer list takes longer than another sweep or two.
LISTED_STAGES = 16


def slice_order(instance: PipelineInstance, order: IntArray) -> tuple[int, IntArray]:
    """Cut the order into at most k stages so that the bottleneck stage is as cheap as possible.

    Exact, in memory O(n + m).

    Parameters
    ----------
    order
        The nodes in a topological order, shape (n,).

    Returns
    -------
    The cost of the bottleneck stage, and the position after the last node of each stage, ascending.
    """
    cost, ends = best_slicing(
        order,
        kernel_graph(instance.graph),
        min(instance.k, instance.nodes),
        LISTED_STAGES * instance.nodes,
    )
    return int(cost), ends


def beats(instance: PipelineInstance, order: IntArray, threshold: int) -> bool:
    """Return whether the order can be cut into at most k stages of cost <= threshold each.

    Several times cheaper than `slice_order`, most of all when the answer is no.
    """
    k = min(instance.k, instance.nodes)
    return bool(is_sliceable(order, kernel_graph(instance.graph), k, threshold))
