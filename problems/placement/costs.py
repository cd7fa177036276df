"""Costs of device placement on a cluster, by the roofline model."""

from dataclasses import replace

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Cluster, Device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator import LEFT_OUT
from boundmark.problems.placement.graph import UNSUPPORTED, PlacementGraph
from boundmark.problems.roofline import operation_seconds
from boundmark.problems.ticks import to_nanoseconds

DEFAULT_CLUSTER = "moirai-inter-server"


def placement_graph(graph: ComputationGraph, hardware: Device | Cluster) -> PlacementGraph:
    """Return the graph with its costs in nanoseconds, each rounded once.

    A device without a peak rate for the graph's dtype supports the operators that do no arithmetic.
    An operator takes memory for its parameters and its outputs, in bytes ([MOIRAI24], Equation 5).

    Raises
    ------
    InvalidInputError
        If the hardware is a single device, or has no device for an operator.
    """
    if isinstance(hardware, Device):
        raise InvalidInputError(
            f"{hardware.name!r} is a single device; problem 'placement' needs a cluster, "
            f"e.g. {DEFAULT_CLUSTER}."
        )
    producers = graph.producers.tolist()
    readers: dict[int, set[int]] = {}
    for node, operator in enumerate(graph.operators):
        for tensor in operator.reads:
            if tensor != LEFT_OUT and producers[tensor] >= 0:
                readers.setdefault(tensor, set()).add(node)
    moved = sorted(readers)
    sizes, size = np.unique(
        np.array([graph.tensors[tensor].bytes for tensor in moved], dtype=np.int64),
        return_inverse=True,
    )
    return PlacementGraph(
        duration=frozen(np.stack([_durations(graph, device) for device in hardware.devices], 1)),
        memory=frozen(graph.param_bytes + graph.output_bytes),
        capacity=frozen([int(device.memory_bytes) for device in hardware.devices]),
        producer=frozen([producers[tensor] for tensor in moved]),
        consumers=tuple(tuple(sorted(readers[tensor])) for tensor in moved),
        size=frozen(size),
        times=_transfer_times(sizes, hardware),
        names=graph.names,
        device_names=hardware.members,
        tick="ns",
        op_types=graph.op_types,
        output_shapes=tuple(
            graph.tensors[operator.writes[0]].shape if operator.writes else ()
            for operator in graph.operators
        ),
    )


def _durations(graph: ComputationGraph, device: Device) -> IntArray:
    """Return the ticks of each operator, shape (n,)."""
    # What was measured has run, whatever the dtype.
    if device.measured is not None or graph.dtype in device.peak_rate:
        return to_nanoseconds(operation_seconds(graph, device))
    # Any rate will do for those without arithmetic.
    other = replace(device, peak_rate={graph.dtype: 1.0})
    is_supported = graph.flops == 0
    seconds = np.where(is_supported, operation_seconds(graph, other), 0.0)
    return frozen(np.where(is_supported, to_nanoseconds(seconds), UNSUPPORTED))


def _transfer_times(sizes: IntArray, cluster: Cluster) -> IntArray:
    """Return the ticks for each size and each pair of devices, shape (S, D, D)."""
    seconds = cluster.latency[None] + sizes[:, None, None] / cluster.bandwidth[None]
    return to_nanoseconds(np.where(np.eye(len(cluster.members), dtype=bool), 0.0, seconds))
