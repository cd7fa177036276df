"""The arrays of an instance as compiled kernels read them."""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.placement import PlacementInstance
from boundmark.problems.placement.feasibility import PER_TENSOR


class PlacementArrays(NamedTuple):
    """Operators, tensors and costs of an instance.

    Compiled code knows fields by position. Whoever reorders them has to clear numba's cache, which
    only notices changes of the kernels' own files.

    Attributes
    ----------
    duration
        Ticks of each operator on each device, -1 if it cannot run there, shape (n, D).
    order
        The operators in topological order, shape (n,).
    producer, size
        Of each tensor its operator, and its table in `times`, shape (T,).
    reader_start, readers
        Tensor t is read by ``readers[reader_start[t] : reader_start[t + 1]]``.
    output_start, outputs
        Operator v writes ``outputs[output_start[v] : output_start[v + 1]]``.
    input_start, inputs
        Operator v reads ``inputs[input_start[v] : input_start[v + 1]]``.
    times
        Ticks to move a tensor, shape (S, D, D).
    memory, capacity
        Of operators, shape (n,), and devices, shape (D,).
    is_shared
        1 if the consumers of a tensor on one device share its transfer, else 0.
    """

    duration: IntArray
    order: IntArray
    producer: IntArray
    size: IntArray
    reader_start: IntArray
    readers: IntArray
    output_start: IntArray
    outputs: IntArray
    input_start: IntArray
    inputs: IntArray
    times: IntArray
    memory: IntArray
    capacity: IntArray
    is_shared: int


def _readonly(axes: int) -> types.Array:
    return types.Array(types.int64, axes, "C", readonly=True)


ARRAYS = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_readonly(2), *[_readonly(1)] * 9, _readonly(3), *[_readonly(1)] * 2, types.int64],
    PlacementArrays,
)


def placement_arrays(instance: PlacementInstance) -> PlacementArrays:
    """Return the arrays of an instance as kernels take them.

    They are read-only, which those of an instance are not when it comes from another process.
    """
    graph = instance.graph
    lengths = [len(row) for row in graph.consumers]
    readers = np.array([v for row in graph.consumers for v in row], dtype=np.int64)
    tensor_of = np.repeat(np.arange(len(lengths)), lengths)
    inputs = tensor_of[np.argsort(readers, kind="stable")]
    ends = np.arange(graph.nodes + 1)
    return PlacementArrays(
        duration=frozen(graph.duration),
        order=frozen(graph.dag.topological_order),
        producer=frozen(graph.producer),
        size=frozen(graph.size),
        reader_start=frozen(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])),
        readers=frozen(readers),
        output_start=frozen(np.searchsorted(np.sort(graph.producer), ends)),
        outputs=frozen(np.argsort(graph.producer, kind="stable")),
        input_start=frozen(np.searchsorted(np.sort(readers), ends)),
        inputs=frozen(inputs),
        times=frozen(graph.times),
        memory=frozen(graph.memory),
        capacity=frozen(graph.capacity),
        is_shared=int(instance.transfers == PER_TENSOR),
    )
