"""An instance as the arrays that kernels take."""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.slicing import CHANNELS, SlicingInstance


class SlicingArrays(NamedTuple):
    """Fields of a `SlicingGraph` as contiguous arrays.

    Compiled code knows fields by position. Whoever reorders them has to clear numba's cache, which
    only notices changes of the kernels' own files.

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
    freed
        All operators in the order of their last use, shape (N,).
    is_shared
        1 where parameters are divided among devices, 0 where they are copied, shape (N,).
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
    freed: IntArray
    capacity: IntArray
    is_shared: IntArray


def _readonly(axes: int) -> types.Array:
    return types.Array(types.int64, axes, "C", readonly=True)


ARRAYS = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_readonly(2 if field in ("work", "edges") else 1) for field in SlicingArrays._fields],
    SlicingArrays,
)


def slicing_arrays(instance: SlicingInstance) -> SlicingArrays:
    """Return the arrays of an instance."""
    graph = instance.graph
    rows = [
        (*edge, int(graph.axis[edge.producer] != graph.axis[edge.consumer]))
        for inputs in graph.inputs
        for edge in inputs
    ]
    edges = frozen(np.array(rows, dtype=np.int64).reshape(-1, 10))
    return SlicingArrays(
        length=graph.length,
        work=graph.work,
        launch=graph.launch,
        edges=edges,
        start=frozen(np.searchsorted(edges[:, 1], np.arange(graph.nodes + 1))),
        readers=frozen(graph.dag.targets),
        reader_start=frozen(graph.dag.consumer_start),
        router=frozen([*graph.point_to_point, *graph.broadcast, graph.delay]),
        weights=graph.weights,
        output=graph.output,
        last_use=graph.last_use,
        freed=frozen(np.argsort(graph.last_use, kind="stable")),
        capacity=graph.capacity,
        is_shared=frozen((graph.axis == CHANNELS).astype(np.int64)),
    )
