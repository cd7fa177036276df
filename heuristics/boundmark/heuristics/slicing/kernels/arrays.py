"""An instance as the arrays that kernels take."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray
from boundmark.problems.slicing import CHANNELS, SlicingInstance


class SlicingArrays(NamedTuple):
    """Fields of a `SlicingGraph` as contiguous arrays.

    Attributes
    ----------
    edges
        A row per edge, sorted by consumer: the fields of `Edge`, and 1 if producer and consumer are
        sliced in different dimensions, shape (m, 10).
    start
        Operator i's inputs are ``edges[start[i]:start[i + 1]]``, shape (N + 1,).
    readers, reader_start
        The operators that read i's output: ``readers[reader_start[i]:reader_start[i + 1]]``.
    router
        Ticks and bytes point to point, ticks and bytes by broadcast, and the delay, shape (5,).
    last_use
        The last operator that reads each output, or the operator itself, shape (N,).
    is_shared
        Whether parameters are divided among devices, not copied, shape (N,).
    """

    length: IntArray
    work: IntArray
    launch: IntArray
    edges: IntArray
    start: IntArray
    readers: IntArray
    reader_start: IntArray
    router: IntArray
    weights: IntArray
    output: IntArray
    last_use: IntArray
    capacity: IntArray
    is_shared: npt.NDArray[np.bool_]


def slicing_arrays(instance: SlicingInstance) -> SlicingArrays:
    """Return the arrays of an instance."""
    graph = instance.graph
    rows = [
        (*edge, int(graph.axis[edge.producer] != graph.axis[edge.consumer]))
        for inputs in graph.inputs
        for edge in inputs
    ]
    edges = np.array(rows, dtype=np.int64).reshape(-1, 10)
    return SlicingArrays(
        length=np.ascontiguousarray(graph.length),
        work=np.ascontiguousarray(graph.work),
        launch=np.ascontiguousarray(graph.launch),
        edges=edges,
        start=np.searchsorted(edges[:, 1], np.arange(graph.nodes + 1)),
        readers=np.ascontiguousarray(graph.dag.targets),
        reader_start=np.ascontiguousarray(graph.dag.consumer_start),
        router=np.array([*graph.point_to_point, *graph.broadcast, graph.delay], dtype=np.int64),
        weights=np.ascontiguousarray(graph.weights),
        output=np.ascontiguousarray(graph.output),
        last_use=np.ascontiguousarray(graph.last_use),
        capacity=np.ascontiguousarray(graph.capacity),
        is_shared=np.asarray(graph.axis == CHANNELS),
    )
