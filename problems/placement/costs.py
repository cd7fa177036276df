"""Costs of device placement: of a model on a cluster by the roofline model, or as measured."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph
from boundmark.problems.devices import Cluster, Device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.placement.graph import UNSUPPORTED, FusedCosts, PlacementGraph
from boundmark.problems.roofline import operation_seconds
from boundmark.problems.ticks import to_nanoseconds

DEFAULT_CLUSTER = "moirai-inter-server"


def placement_graph(graph: ComputationGraph, hardware: Device | Cluster) -> PlacementGraph:
    """Return the graph with its costs in nanoseconds, each rounded once.

    A device without a peak rate for the graph's dtype, or one that it uses instead, supports the
    operators that do no arithmetic. Parameters take memory in bytes all the time, and tensors while
    they are live: see `feasibility`.

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
    devices = hardware.devices
    producers = graph.producers.tolist()
    readers: dict[int, set[int]] = {}
    for node, operator in enumerate(graph.operators):
        for tensor in operator.reads:
            if tensor != LEFT_OUT and producers[tensor] >= 0:
                readers.setdefault(tensor, set()).add(node)
    moved = sorted(readers)
    tensor_bytes = np.array([graph.tensors[tensor].bytes for tensor in moved], dtype=np.int64)
    sizes, size = np.unique(tensor_bytes, return_inverse=True)
    producer = np.array([producers[tensor] for tensor in moved], dtype=np.int64)
    unread = graph.output_bytes.copy()
    np.subtract.at(unread, producer, tensor_bytes)
    return PlacementGraph(
        duration=frozen(np.stack([_durations(graph, device) for device in devices], 1)),
        memory=graph.param_bytes,
        capacity=frozen([int(device.memory_bytes) for device in devices]),
        producer=frozen(producer),
        consumers=tuple(tuple(sorted(readers[tensor])) for tensor in moved),
        size=frozen(size),
        times=transfer_times(sizes, hardware),
        names=graph.names,
        device_names=hardware.members,
        tick="ns",
        op_types=graph.op_types,
        output_shapes=tuple(
            graph.tensors[operator.writes[0]].shape if operator.writes else ()
            for operator in graph.operators
        ),
        tensor_memory=frozen(tensor_bytes),
        result_memory=frozen(unread),
        fusing=_fused_costs(graph, devices, moved),
    )


def _fused_costs(
    graph: ComputationGraph, devices: Sequence[Device], moved: Sequence[int]
) -> FusedCosts | None:
    """Return what times of fused operators follow from; None if times were measured."""
    if any(device.measured is not None for device in devices):
        return None
    is_free = np.array([op_type in FREE_OP_TYPES for op_type in graph.op_types])
    traffic = np.where(is_free, 0, graph.read_bytes + graph.param_bytes + graph.output_bytes)
    rates = [device.peak_rate.get(device.used_dtype(graph.dtype), 1.0) for device in devices]
    arithmetic = np.stack([np.where(is_free, 0.0, graph.flops / rate) for rate in rates], axis=1)
    return FusedCosts(
        arithmetic,
        frozen(traffic),
        np.array([device.memory_bandwidth for device in devices]),
        np.array([device.op_overhead for device in devices]),
        is_free,
        frozen([graph.tensors[tensor].bytes for tensor in moved]),
        np.isin(moved, graph.results),
    )


def _durations(graph: ComputationGraph, device: Device) -> IntArray:
    """Return the ticks of each operator, shape (n,)."""
    # A measured operator is supported, whatever the dtype.
    if device.measured is not None or device.used_dtype(graph.dtype) in device.peak_rate:
        with naming(f"device {device.name!r}"):
            return to_nanoseconds(operation_seconds(graph, device))
    # Any rate will do for those without arithmetic.
    other = replace(device, peak_rate={graph.dtype: 1.0})
    is_supported = graph.flops == 0
    seconds = np.where(is_supported, operation_seconds(graph, other), 0.0)
    return frozen(np.where(is_supported, to_nanoseconds(seconds), UNSUPPORTED))


def transfer_times(sizes: IntArray, cluster: Cluster) -> IntArray:
    """Return the ticks for each size and each pair of devices, shape (S, D, D)."""
    seconds = cluster.latency[None] + sizes[:, None, None] / cluster.bandwidth[None]
    with naming(f"links of {cluster.name!r}"):
        return to_nanoseconds(np.where(np.eye(len(cluster.members), dtype=bool), 0.0, seconds))


def placement_graph_of(source: MeasuredGraph | PlacementGraph) -> PlacementGraph:
    """Return the costs on all devices; a tensor takes as long between any two of them.

    Raises
    ------
    InvalidInputError
        If some node runs on no device, or there is no room for it.
    """
    if isinstance(source, PlacementGraph):
        return source
    dag = source.dag
    on_accelerator = np.where(np.array(source.on_accelerator), source.accelerator, UNSUPPORTED)
    columns = [on_accelerator] * source.accelerators + [source.processor] * source.processors
    devices = len(columns)
    producers = [v for v in range(dag.nodes) if len(dag.consumers_of(v))]
    ticks, size = np.unique(source.transfer[producers], return_inverse=True)
    between = 1 - np.eye(devices, dtype=np.int64)
    room = int(source.memory.sum())
    return PlacementGraph(
        duration=frozen(np.stack(columns, 1) if columns else np.zeros((dag.nodes, 0), np.int64)),
        memory=source.memory,
        capacity=frozen([source.capacity] * source.accelerators + [room] * source.processors),
        producer=frozen(producers),
        consumers=tuple(tuple(dag.consumers_of(v).tolist()) for v in producers),
        size=frozen(size),
        times=frozen(ticks[:, None, None] * between[None]),
        names=source.names,
        device_names=(
            *(f"accelerator {number}" for number in range(source.accelerators)),
            *(f"processor {number}" for number in range(source.processors)),
        ),
        tick=source.tick,
    )
