"""The arrays of a graph as compiled kernels read them."""

from typing import NamedTuple

from numba import types

from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS
from boundmark.problems.pipeline.graph import PipelineGraph


class Graph(NamedTuple):
    """Adjacency and costs of n nodes.

    Compiled code knows fields by position. Whoever reorders them has to clear numba's cache, which
    only notices changes of the kernels' own files.

    Attributes
    ----------
    producer_start, producers, consumer_start, consumers
        Node v has the producers ``producers[producer_start[v] : producer_start[v + 1]]``; likewise
        its consumers.
    work, transfer, param_load
        Ticks, shape (n,).
    cache
        Ticks' worth of parameters that fit into one stage.
    """

    producer_start: IntArray
    producers: IntArray
    consumer_start: IntArray
    consumers: IntArray
    work: IntArray
    transfer: IntArray
    param_load: IntArray
    cache: int


GRAPH = types.NamedTuple([INTEGERS] * 7 + [types.int64], Graph)  # type: ignore[no-untyped-call]


def kernel_graph(graph: PipelineGraph) -> Graph:
    """Return the arrays of a graph as kernels take them."""
    dag = graph.dag
    return Graph(
        dag.producer_start,
        dag.producers,
        dag.consumer_start,
        dag.targets,
        graph.work,
        graph.transfer,
        graph.param_load,
        graph.cache,
    )
