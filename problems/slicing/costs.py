"""Costs of slicing a model over edge devices around one router, by the roofline model."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph, Tensor
from boundmark.problems.devices import Cluster, Device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator_types import FREE_OP_TYPES
from boundmark.problems.roofline import operation_seconds
from boundmark.problems.slicing.edge import CHANNELS, HEIGHT, Edge
from boundmark.problems.slicing.graph import SlicingGraph
from boundmark.problems.slicing.windows import (
    CHANNEL_DIMENSION,
    NO_HEIGHT,
    Reading,
    height_dimensions,
    sliced_dimensions,
    window_of,
)
from boundmark.problems.ticks import NANOSECONDS, to_nanoseconds

DEFAULT_CLUSTER = "raspberry-pi-4-gigabit"

# Bandwidths are fractions of integers up to this: exact for whole numbers of Mbit/s.
LARGEST_DENOMINATOR = 2**20


def slicing_graph(graph: ComputationGraph, hardware: Device | Cluster) -> SlicingGraph:
    """Return the graph with its costs in nanoseconds, each rounded once.

    Operators keep the order of the file if that is one in which they can run, otherwise the
    topological order that is nearest. All devices have the model's input when the time begins.

    Raises
    ------
    InvalidInputError
        If the hardware is a single device, its links are not those of one router, or a device has
        measured times.
    """
    if isinstance(hardware, Device):
        raise InvalidInputError(
            f"{hardware.name!r} is a single device; problem 'slicing' needs a cluster, "
            f"e.g. {DEFAULT_CLUSTER}."
        )
    if any(device.measured is not None for device in hardware.devices):
        raise InvalidInputError(
            f"cluster {hardware.name!r} has measured times, which are of whole operators; problem "
            "'slicing' needs those of parts, from rates."
        )
    rate, delay = _router(hardware)
    order = graph.dag.topological_order.tolist()
    heights = height_dimensions(graph)
    axes = sliced_dimensions(graph, heights)
    outputs = [_output(graph, node) for node in order]
    lengths = [
        _extent(tensor, axes[node], heights[number]) if tensor else 1
        for node, (number, tensor) in zip(order, outputs, strict=True)
    ]
    work, launch = _computation(graph, hardware)
    return SlicingGraph(
        length=frozen(lengths),
        axis=frozen([axes[node] for node in order]),
        work=frozen(work[order]),
        launch=launch,
        weights=frozen(graph.param_bytes[order]),
        output=frozen(
            [
                -(-int(graph.output_bytes[node]) // length)
                for node, length in zip(order, lengths, strict=True)
            ]
        ),
        edges=tuple(_edges(graph, order, axes, heights)),
        capacity=frozen([int(device.memory_bytes) for device in hardware.devices]),
        point_to_point=rate,
        broadcast=rate,
        delay=delay,
        names=tuple(graph.names[node] for node in order),
        device_names=hardware.members,
        tick="ns",
    )


def _router(cluster: Cluster) -> tuple[tuple[int, int], int]:
    """Return ticks and bytes of the one bandwidth that all links have, and their latency."""
    links = cluster.links
    kinds = {(link.bandwidth, link.latency) for link in links}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"the links of cluster {cluster.name!r} differ; problem 'slicing' needs devices around "
            f"one router, with equal links, e.g. {DEFAULT_CLUSTER}."
        )
    if not kinds:
        return (0, 1), 0
    ((bandwidth, latency),) = kinds
    per_byte = (Fraction(NANOSECONDS) / Fraction(bandwidth)).limit_denominator(LARGEST_DENOMINATOR)
    return (per_byte.numerator, per_byte.denominator), int(to_nanoseconds(np.array(latency)))


def _computation(graph: ComputationGraph, cluster: Cluster) -> tuple[IntArray, IntArray]:
    """Return ticks of each operator on each device, shape (N, n), and to start one, shape (n,)."""
    # Operators are cut one by one, those of one kernel too.
    graph = replace(graph, kernels=())
    is_free = np.array([op_type in FREE_OP_TYPES for op_type in graph.op_types])
    work = np.empty((len(graph.operators), len(cluster.devices)), dtype=np.int64)
    for column, device in enumerate(cluster.devices):
        seconds = operation_seconds(graph, device) - np.where(is_free, 0.0, device.op_overhead)
        work[:, column] = to_nanoseconds(seconds)
    launch = to_nanoseconds(np.array([device.op_overhead for device in cluster.devices]))
    return frozen(work), launch


def _output(graph: ComputationGraph, node: int) -> tuple[int, Tensor | None]:
    writes = graph.operators[node].writes
    return (writes[0], graph.tensors[writes[0]]) if writes else (LEFT_OUT, None)


def _extent(tensor: Tensor, axis: int, height: int) -> int:
    """Return a tensor's extent in a dimension, or 1."""
    if axis == HEIGHT:
        return 1 if height == NO_HEIGHT else max(1, tensor.shape[height])
    return max(1, tensor.shape[CHANNEL_DIMENSION]) if len(tensor.shape) > 1 else 1


def _edges(
    graph: ComputationGraph, order: list[int], axes: list[int], heights: list[int]
) -> list[Edge]:
    place = {node: at for at, node in enumerate(order)}
    producers = graph.producers.tolist()
    found = []
    for node in order:
        operator = graph.operators[node]
        number, output = _output(graph, node)
        axis, offset = axes[node], 0
        for tensor in dict.fromkeys(operator.reads):
            if tensor == LEFT_OUT:
                continue
            given = graph.tensors[tensor]
            extent = _extent(given, axis, heights[tensor])
            producer = producers[tensor]
            if producer >= 0:
                reading = Reading(
                    operator.op_type, operator.attributes, axis, given.shape,
                    output.shape if output else (), extent,
                    _extent(output, axis, heights[number]) if output else 1, offset,
                )  # fmt: skip
                other = _extent(given, axes[producer], heights[tensor])
                parts = extent * (other if axes[producer] != axis else 1)
                unit = -(-given.bytes // max(1, parts))
                found.append(Edge(place[producer], place[node], unit, extent, *window_of(reading)))
            offset += extent if axis == CHANNELS else 0
    return found
