"""Costs of slicing a model over edge devices around one router, by the roofline model.

A part of an operator's output needs a part of each input, by type of operator. What is not known
here needs its whole input, which is safe and rarely the case.

Operators are sliced by output channels or by the height of the feature map. [MEMORIANOVA24],
Section 3.3.1, compares two numbers k1 and k2 that are "calculated from relevant parameters"; the
table that defines them is missing from the text. Here, k1 is what each further device has to hold
if channels are sliced, which is a copy of the input, and k2 is what it has to hold if the height
is sliced, which is a copy of the parameters. As printed, channels are sliced if k1 < k2.
Operators that do not mix channels follow the operator whose output they read, since another
dimension than its would move the whole tensor.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph, Operator, Tensor
from boundmark.problems.devices import Cluster, Device
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming
from boundmark.problems.operator_types import FREE_OP_TYPES, usual_type
from boundmark.problems.roofline import operation_seconds
from boundmark.problems.slicing.graph import CHANNELS, HEIGHT, Edge, SlicingGraph
from boundmark.problems.ticks import NANOSECONDS, to_nanoseconds


class Window(NamedTuple):
    """The last five fields of an `Edge`."""

    multiply: int
    add: int
    size: int
    divide: int
    scale: int


class Reading(NamedTuple):
    """An operator that reads a tensor, sliced in some dimension.

    Attributes
    ----------
    axis
        `CHANNELS` or `HEIGHT`.
    source, target
        Shapes of the tensor and of the operator's output.
    extent
        Extent of the tensor in that dimension.
    length
        Length of the output in that dimension.
    offset
        Offset of the channels that operators read before, for concatenations.
    """

    op_type: str
    attributes: Any
    axis: int
    source: tuple[int, ...]
    target: tuple[int, ...]
    extent: int
    length: int
    offset: int


SAME = Window(1, 0, 1, 1, 1)


def whole_of(reading: Reading) -> Window:
    """Return the window of an operator that needs whole inputs."""
    return Window(0, 0, reading.extent, 1, 1)


def window_of(reading: Reading) -> Window:
    """Return the window of an operator on one of its inputs."""
    return _RULES.get(reading.op_type, whole_of)(reading)


def _each_index(reading: Reading) -> Window:
    """Return the window of elementwise operators; broadcast inputs are needed whole."""
    same = reading.extent == reading.length and len(reading.source) == len(reading.target)
    return SAME if same else whole_of(reading)


def _rows(reading: Reading) -> Window:
    """Return the rows under a sliding window: with a stride, padding and reach."""
    attributes = reading.attributes
    stride, pad = attributes["strides"][0], attributes["pads"][0]
    reach = (attributes["kernel_shape"][0] - 1) * attributes["dilations"][0] + 1
    return Window(stride, -pad, reach, 1, 1)


def _pooling(reading: Reading) -> Window:
    return _rows(reading) if reading.axis == HEIGHT else _each_index(reading)


def _convolution(reading: Reading) -> Window:
    """Return rows with halo, or the channels of the groups that a slice of the output is in."""
    if reading.axis == HEIGHT:
        return _rows(reading)
    groups = reading.attributes["group"]
    if groups == 1:
        return whole_of(reading)
    return Window(1, 0, 1, reading.length // groups, reading.extent // groups)


def _global_pooling(reading: Reading) -> Window:
    return SAME if reading.axis == CHANNELS else whole_of(reading)


def _normalisation_over_channels(reading: Reading) -> Window:
    """Return the neighbours that local response normalisation looks at."""
    if reading.axis == HEIGHT:
        return SAME
    size = reading.attributes["size"]
    return Window(1, -((size - 1) // 2), size, 1, 1)


def _softmax(reading: Reading) -> Window:
    place = {CHANNELS: CHANNEL_DIMENSION, HEIGHT: 2}[reading.axis]
    is_summed = place in reading.attributes["axes"] or len(reading.source) < 2
    return whole_of(reading) if is_summed else _each_index(reading)


def _concatenation(reading: Reading) -> Window:
    # Not every reader knows the axis.
    axis = reading.attributes.get("axis")
    if axis == CHANNEL_DIMENSION and reading.axis == CHANNELS:
        return Window(1, -reading.offset, 1, 1, 1)
    if axis != CHANNEL_DIMENSION:
        return whole_of(reading)
    return _each_index(reading)


def _reshaping(reading: Reading) -> Window:
    """Return the first dimension behind the batch that holds the same elements in order."""
    source, target = reading.source, reading.target
    if reading.axis == HEIGHT:
        return SAME if reading.extent == reading.length else whole_of(reading)
    behind = CHANNEL_DIMENSION + 1
    if len(source) < behind or len(target) < behind or source[0] != target[0]:
        return whole_of(reading)
    inner, outer = prod(source[behind:]), prod(target[behind:])
    return Window(outer, 0, outer, inner, 1)


def _transposition(reading: Reading) -> Window:
    permutation = reading.attributes.get("perm")
    if permutation is None:
        return whole_of(reading)
    if reading.axis == HEIGHT:
        return SAME
    is_kept = permutation[CHANNEL_DIMENSION] == CHANNEL_DIMENSION
    return SAME if is_kept else whole_of(reading)


_EACH = (
    "Abs Add BatchNormalization Cast Ceil Clip Div Dropout Elu Erf Exp Floor Gelu HardSigmoid "
    "HardSwish Identity LeakyRelu Log Max Mean Min Mul Neg PRelu Pow Relu Selu Sigmoid Softplus "
    "Sqrt Sub Sum Tanh"
)

_RULES: dict[str, Callable[[Reading], Window]] = {
    **dict.fromkeys(_EACH.split(), _each_index),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pooling),
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), _convolution),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _global_pooling),
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), _reshaping),
    **dict.fromkeys(("LogSoftmax", "Softmax"), _softmax),
    "Concat": _concatenation,
    "LRN": _normalisation_over_channels,
    "Transpose": _transposition,
}


# They sum over all channels of their input, of a group at least.
MIXING = frozenset({"Conv", "ConvTranspose", "DeformConv", "Gemm", "MatMul"})

# Where a tensor has no such dimension.
NO_HEIGHT = -1

CHANNEL_DIMENSION = 1


def height_dimensions(graph: ComputationGraph) -> list[int]:
    """Return the dimension of each tensor that is its height, or `NO_HEIGHT`.

    It is the third of images, and followed through reshapes and transpositions.
    """
    found = [2 if len(tensor.shape) == 4 else NO_HEIGHT for tensor in graph.tensors]
    for node in graph.dag.topological_order.tolist():
        operator = graph.operators[node]
        if operator.op_type not in ("Reshape", "Transpose") or operator.reads[:1] in (
            (),
            (LEFT_OUT,),
        ):
            continue
        source = operator.reads[0]
        for target in operator.writes:
            found[target] = _followed(graph, operator, found[source], source, target)
    return found


def _followed(
    graph: ComputationGraph, operator: Operator, height: int, source: int, target: int
) -> int:
    """Return where a reshape or transposition puts the height."""
    before, after = graph.tensors[source].shape, graph.tensors[target].shape
    if height == NO_HEIGHT:
        return NO_HEIGHT
    if operator.op_type == "Transpose":
        permutation = operator.attributes.get("perm")
        return permutation.index(height) if isinstance(permutation, tuple) else NO_HEIGHT
    tail = len(before) - height
    place = len(after) - tail
    is_kept = place > CHANNEL_DIMENSION and after[place:] == before[height:]
    return place if is_kept else NO_HEIGHT


def sliced_dimensions(graph: ComputationGraph, heights: list[int]) -> list[int]:
    """Return `CHANNELS` or `HEIGHT` for each operator."""
    producers = graph.producers.tolist()
    chosen = [CHANNELS] * len(graph.operators)
    for node in graph.dag.topological_order.tolist():
        operator = graph.operators[node]
        if not operator.writes or heights[operator.writes[0]] == NO_HEIGHT:
            continue
        output = graph.tensors[operator.writes[0]]
        if output.shape[heights[operator.writes[0]]] == 1:
            continue
        read = [tensor for tensor in operator.reads if tensor != LEFT_OUT]
        data = [tensor for tensor in read if tensor not in graph.parameters]
        if usual_type(operator.op_type) in MIXING:
            k1 = sum(graph.tensors[tensor].bytes for tensor in set(data))
            k2 = sum(graph.tensors[tensor].bytes for tensor in set(read) & graph.parameters)
            chosen[node] = CHANNELS if k1 < k2 else HEIGHT
            continue
        written = [tensor for tensor in data if producers[tensor] >= 0]
        largest = max(written, key=lambda tensor: graph.tensors[tensor].bytes, default=None)
        chosen[node] = HEIGHT if largest is None else chosen[producers[largest]]
        if chosen[node] == CHANNELS and output.shape[CHANNEL_DIMENSION] == 1:
            chosen[node] = HEIGHT
    return chosen


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
        with naming(f"device {device.name!r}"):
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
