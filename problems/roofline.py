"""The roofline cost model: seconds of operations and transfers, and which operations are fused.

An operation takes the longer of its arithmetic at peak rate and its memory traffic at full
bandwidth, plus the time to launch it ([ROOFLINE09]). A tensor takes the link's latency, and its
bytes at the link's bandwidth.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.devices import Device, Link
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.operator import LEFT_OUT

# What an inference runtime turns into metadata or drops: no kernel is launched and no byte moves.
# Their outputs are views of their inputs (Flatten, Identity, Reshape, Squeeze, Unsqueeze, and
# Dropout outside training), or are known before the model runs (Constant, ConstantOfShape, Shape).
# Transpose and Slice are not among them, since runtimes copy what they yield.
FREE_OP_TYPES = frozenset(
    {"Constant", "ConstantOfShape", "Dropout", "Flatten", "Identity", "Reshape", "Shape"}
    | {"Squeeze", "Unsqueeze"}
)


def operation_seconds(graph: ComputationGraph, device: Device) -> npt.NDArray[np.float64]:
    """Return how long the device takes for each operation, shape (n,).

    An operation reads its inputs and parameters from the device's memory and writes its output
    there. Operations of `FREE_OP_TYPES` take no time. On a device that fuses, an operation that is
    fused into its producer is not launched, and the tensor between them is neither written nor
    read: see `fusion`. Where times were measured, they are the times.

    Raises
    ------
    InvalidInputError
        If the device has no peak rate for the graph's dtype, or times of another model.
    """
    if device.measured is not None:
        return _measured_seconds(graph, device.name, device.measured)
    moved = graph.read_bytes + graph.param_bytes + graph.output_bytes
    overhead = np.full(len(graph.operators), device.op_overhead)
    free = np.array([op_type in FREE_OP_TYPES for op_type in graph.op_types])
    if device.fuses:
        into = fused_into(graph)
        # What is free launches nothing that could be fused with.
        fused = np.flatnonzero((into >= 0) & ~free[into])
        # The only tensor that such an operation reads and that is no parameter.
        between = graph.read_bytes[fused]
        moved = moved - np.bincount(fused, between, len(free))
        moved -= np.bincount(into[fused], between, len(free))
        overhead[fused] = 0.0
    roof = np.maximum(graph.flops / device.rate(graph.dtype), moved / device.memory_bandwidth)
    return np.where(free, 0.0, roof + overhead)


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


# One output element of each depends on one element of every input. Normalisation over a batch is
# among them since a trained model's is a scale and a shift.
ELEMENTWISE_OP_TYPES = frozenset(
    {"Abs", "Add", "And", "BatchNormalization", "Cast", "Ceil", "Clip", "Cos", "Div", "Elu"}
    | {"Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid"}
    | {"HardSwish", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mish", "Mod", "Mul"}
    | {"Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Rsqrt", "Selu"}
    | {"Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Swish", "Tanh", "Where"}
    | {"Xor"}
)


def fused_into(graph: ComputationGraph) -> IntArray:
    """Return the operation that each one is fused into, shape (n,), or -1.

    That is its producer, if it is elementwise, reads one tensor that is computed, of as many
    elements as it writes, and nobody else reads that or gets it as a result of the model.
    """
    readers = [0] * len(graph.tensors)
    for operator in graph.operators:
        for number in set(operator.reads) - {LEFT_OUT}:
            readers[number] += 1
    for number in graph.results:
        readers[number] += 1
    producers = graph.producers.tolist()
    into = [-1] * len(graph.operators)
    for node, operator in enumerate(graph.operators):
        if operator.op_type not in ELEMENTWISE_OP_TYPES or len(operator.writes) != 1:
            continue
        computed = set(operator.reads) - {LEFT_OUT} - graph.parameters
        if len(computed) != 1:
            continue
        (read,) = computed
        (written,) = operator.writes
        same_size = graph.tensors[read].elements == graph.tensors[written].elements
        if producers[read] >= 0 and readers[read] == 1 and same_size:
            into[node] = producers[read]
    return frozen(into)
