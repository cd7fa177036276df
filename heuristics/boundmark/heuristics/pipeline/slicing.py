"""The best way to cut a topological order into stages (papers/mtpp, Section 4.1)."""

from boundmark.heuristics.pipeline.kernels.slicing import best_slicing, is_sliceable
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline import PipelineInstance

# Per node. Going through a longer list takes longer than another sweep or two.
LISTED_BLOCKS = 16


def slice_order(instance: PipelineInstance, order: IntArray) -> tuple[int, IntArray]:
    """Cut the order into at most k stages so that the dearest stage is as cheap as possible.

    Exact, in memory O(n + m).

    Parameters
    ----------
    order
        The nodes in a topological order, shape (n,).

    Returns
    -------
    The cost of the dearest stage, and the position after the last node of each stage, ascending.
    """
    graph = instance.graph
    cost, ends = best_slicing(
        order,
        graph.dag.producer_start,
        graph.dag.producers,
        graph.dag.consumer_start,
        graph.work,
        graph.transfer,
        graph.param_load,
        graph.cache,
        min(instance.k, instance.nodes),
        LISTED_BLOCKS * instance.nodes,
    )
    return int(cost), ends


def beats(instance: PipelineInstance, order: IntArray, threshold: int) -> bool:
    """Return whether the order can be cut into at most k stages of cost <= threshold each.

    Several times cheaper than `slice_order`, most of all when the answer is no.
    """
    graph = instance.graph
    return bool(
        is_sliceable(
            order,
            graph.dag.producer_start,
            graph.dag.producers,
            graph.dag.consumer_start,
            graph.work,
            graph.transfer,
            graph.param_load,
            graph.cache,
            min(instance.k, instance.nodes),
            threshold,
        )
    )
