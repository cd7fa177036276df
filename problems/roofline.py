"""Seconds of operations and transfers, by the roofline or what devices have beside it; fusion.

An operation takes the longer of its arithmetic at peak rate and its memory traffic at full
bandwidth, plus the time to launch it ([ROOFLINE09]). A tensor takes the link's latency, and its
bytes at the link's bandwidth.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.calibrated_costs import calibrated_seconds, first_producers, kernel_sizes
from boundmark.problems.computation_graph import (
    VIEW,
    ComputationGraph,
    bytes_read,
    kernels_of,
    reader_counts,
)
from boundmark.problems.devices import Device, Link
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.operator_types import ELEMENTWISE_OP_TYPES, FREE_OP_TYPES


def operation_seconds(graph: ComputationGraph, device: Device) -> npt.NDArray[np.float64]:
    """Return how long the device takes for each operation, shape (n,).

    An operation reads its inputs and parameters from the device's memory and writes its output
    there; a lookup reads as much of its table as it writes. Operations of `FREE_OP_TYPES` take no
    time. On a device that fuses, an operation that is fused into its producer is not launched, and
    the tensor between them is neither written nor read: see `fused_into`. Operators of one kernel
    (`ComputationGraph.kernels`) are one operation, whose time one of them bears; views take none.
    Where times were measured, they are the times, and a device with a table of efficiencies takes
    those of `calibrated_costs`.
    """
    if device.measured is not None:
        return _measured_seconds(graph, device.name, device.measured)
    found = np.zeros(len(graph.operators))
    kernels = {one.bearer: one for one in kernels_of(graph)}
    reads = {bearer: bytes_read(graph, one, one.reads) for bearer, one in kernels.items()}
    writes = {
        bearer: sum(graph.tensors[number].bytes for number in one.writes)
        for bearer, one in kernels.items()
    }
    launched = {bearer for bearer in kernels if graph.op_types[bearer] not in FREE_OP_TYPES}
    fused: list[int] = []
    if device.fuses:
        into = fused_into(graph).tolist()
        # What is free launches nothing that could be fused with.
        fused = [bearer for bearer in kernels if into[bearer] in launched]
        for bearer in fused:
            # The only tensor that such a kernel reads and that is no parameter.
            between = reads[bearer]
            reads[bearer] -= between
            writes[into[bearer]] -= between
    if device.efficiency is not None:
        first = first_producers(graph)
        for bearer, kernel in kernels.items():
            sizes = kernel_sizes(graph, kernel, reads[bearer], writes[bearer], first)
            found[bearer] = calibrated_seconds(
                sizes, device, graph.dtype, device.efficiency, launches=bearer not in fused
            )
        return found
    rate, overhead = device.rate(graph.dtype), dict.fromkeys(fused, 0.0)
    for bearer in launched:
        kernel = kernels[bearer]
        flops = sum(int(graph.flops[node]) for node in kernel.members)
        moved = reads[bearer] + writes[bearer] + bytes_read(graph, kernel, kernel.parameters)
        roof = max(flops / rate, moved / device.memory_bandwidth)
        found[bearer] = roof + overhead.get(bearer, device.op_overhead)
    return found


def _measured_seconds(
    graph: ComputationGraph, device: str, measured: Mapping[str, float]
) -> npt.NDArray[np.float64]:
    for name in graph.names:
        if name not in measured:
            raise InvalidInputError(
                f"device {device!r} has no time for operator {quoted(name)}; expected times that "
                "were measured on this model."
            )
    # Models whose operators have no names of their own are numbered alike.
    others = measured.keys() - set(graph.names)
    if others:
        raise InvalidInputError(
            f"device {device!r} has times for {len(measured)} operators, one of them "
            f"{quoted(min(others))}, and the model has {len(graph.names)} without it; expected "
            "times that were measured on this model."
        )
    return np.array([measured[name] for name in graph.names])


def transfer_seconds(sizes: IntArray, link: Link) -> npt.NDArray[np.float64]:
    """Return how long tensors of these sizes in bytes take on the link, each on its own."""
    return np.asarray(link.latency + sizes / link.bandwidth)


def fused_into(graph: ComputationGraph) -> IntArray:
    """Return the operation that each one is fused into, shape (n,), or -1.

    That is its producer, if it is elementwise, reads one tensor that is computed, of as many
    elements as it writes, and nobody else reads that or gets it as a result of the model. Of a
    kernel of several operations, all must be elementwise; the one that bears its cost stands for
    it.
    """
    readers = reader_counts(graph).tolist()
    producers = graph.producers.tolist()
    into = [-1] * len(graph.operators)
    bearers = graph.kernels or range(len(graph.operators))
    for kernel in kernels_of(graph):
        is_elementwise = all(graph.op_types[at] in ELEMENTWISE_OP_TYPES for at in kernel.members)
        if not is_elementwise or len(kernel.writes) != 1 or len(kernel.reads) != 1:
            continue
        (read,), (written,) = kernel.reads, kernel.writes
        same_size = graph.tensors[read].elements == graph.tensors[written].elements
        if producers[read] >= 0 and readers[read] == 1 and same_size:
            producer = producers[read]
            into[kernel.bearer] = producer if bearers[producer] == VIEW else bearers[producer]
    return frozen(into)
