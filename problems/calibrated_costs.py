"""Calibrated costs: seconds of operators by class and size, from a device's table of efficiencies.

Classes are what libraries have different programs for, as far as the sizes of an operator tell: a
convolution with one input channel for each group is bound by memory, one of width 1 is a matrix
product, and the first one of a model reads few channels, which matrix units take badly. Graphs have
windows; files of times have none, and sizes tell them except where groups make them alike.
Reshaping copies if the elements are in another order in memory, as in PyTorch, and is a view
otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from boundmark.problems.computation_graph import (
    ELEMENT_BITS,
    ComputationGraph,
    Kernel,
    bytes_read,
)
from boundmark.problems.devices import Device, EfficiencyTable
from boundmark.problems.operator_types import (
    ELEMENTWISE_OP_TYPES,
    STRIDED_VIEW_OP_TYPES,
    usual_type,
)

# Classes whose times depend on arithmetic; of all others, bytes say the same.
PRODUCTS = frozenset(
    {"first-convolution", "patch-convolution", "depthwise-convolution", "convolution"}
    | {"pointwise-convolution", "unaligned-pointwise-convolution"}
    | {"matrix-product", "batched-product", "attention", "other"}
)

# The class of operators that launch nothing.
VIEW = "view"

# Matrix units multiply blocks of so many rows and columns.
ALIGNED = 64

# Elements of the usual windows of depthwise convolutions.
DEPTHWISE_WINDOWS = (9, 25, 49)


@dataclass(frozen=True)
class OperatorSizes:
    """Sizes of an operator, or of a kernel of several, from which its class and time follow.

    Attributes
    ----------
    op_type
        As in ONNX, of a kernel that of its main operator.
    flops
        A multiply-add counts as two.
    reads, writes, parameters
        Bytes.
    element_bytes
        Bytes of one element of the output.
    behind
        Types of the operators that its first input comes through: views, from the last one on, and
        the one that computed what they are views of. Empty if it reads inputs of the model.
    window
        Elements of a convolution's window, 0 if not known.
    """

    op_type: str
    flops: int
    reads: int
    writes: int
    parameters: int
    element_bytes: float
    behind: tuple[str, ...]
    window: int = 0

    @property
    def steps(self) -> float:
        """Multiply-adds for an element of the output."""
        return self.flops / 2 / max(1.0, self.writes / self.element_bytes)

    @property
    def rows(self) -> float:
        """Rows of a normalisation, whose parameters are a factor and a shift for each column."""
        return self.writes / max(self.element_bytes, self.parameters / 2)


def operator_class(sizes: OperatorSizes) -> str:
    """Return the class of an operator, in whose curve its time is.

    Examples
    --------
    >>> operator_class(OperatorSizes("Relu", 100, 200, 200, 0, 2, ("Conv",)))
    'elementwise'
    """
    kind = usual_type(sizes.op_type)
    if kind == "Conv":
        return _class_of_convolution(sizes)
    if kind == "Gemm":
        return "matrix-product"
    if kind == "MatMul":
        return "matrix-product" if sizes.parameters else "batched-product"
    if kind in STRIDED_VIEW_OP_TYPES:
        return "copy" if _is_copied(sizes) else VIEW
    if kind in ELEMENTWISE_OP_TYPES and kind != "BatchNormalization":
        return "elementwise"
    return kind.lower()


def _class_of_convolution(sizes: OperatorSizes) -> str:
    steps = sizes.steps
    channels = sizes.parameters / sizes.element_bytes / max(1.0, steps)
    # Elements that are read for each element of one output channel.
    read = sizes.reads / max(1.0, sizes.writes / max(1.0, channels))
    if not sizes.behind:
        return "first-convolution" if read < 0.9 * steps else "patch-convolution"
    window = sizes.window or _usual_window(steps, read)
    if window > 1:
        # Each element is the sum of one channel's, and perhaps a bias.
        return "depthwise-convolution" if steps < window + 1 else "convolution"
    is_aligned = round(steps) % ALIGNED == 0 and round(channels) % ALIGNED == 0
    return "pointwise-convolution" if is_aligned else "unaligned-pointwise-convolution"


def _usual_window(steps: float, read: float) -> int:
    """Return a window that sizes fit: of a width of 1, stride and channels say what is read."""
    ratio = read / max(1.0, steps)
    usual = 1 if any(abs(ratio / once - 1) < 0.1 for once in (1, 4)) else 2
    return next((one for one in DEPTHWISE_WINDOWS if one <= steps < one + 1), usual)


def _is_copied(sizes: OperatorSizes) -> bool:
    if sizes.op_type not in {"Reshape", "Flatten"} or not sizes.behind:
        return False
    # Attention leaves its output in the order in which it is reshaped.
    is_moved = sizes.behind[0] == "Transpose" and sizes.behind[-1] != "Attention"
    return sizes.behind[0] == "Expand" or (is_moved and "Split" not in sizes.behind)


def terms(
    sizes: OperatorSizes, rate: float, bandwidth: float, class_: str
) -> tuple[float, float, float, float, float, float]:
    """Return what the fields of a `Curve` are multiplied with, in seconds."""
    moved = sizes.reads + sizes.writes
    if class_ in PRODUCTS:
        # Steps of attention are the width of a head and the length of the context together.
        steps = 0.0 if class_ == "attention" else sizes.steps
        times = (sizes.flops / rate, moved / bandwidth, sizes.parameters / bandwidth)
        return (1e-6, steps * 1e-9, *times, 0.0)
    rows = sizes.rows if class_ == "layernormalization" else 0.0
    return (1e-6, 0.0, 0.0, (moved + sizes.parameters) / bandwidth, 0.0, rows * 1e-9)


def types_behind(op_types: Sequence[str], first: Sequence[int], node: int) -> tuple[str, ...]:
    """Return `OperatorSizes.behind` of a node."""
    found: list[str] = []
    while (node := first[node]) >= 0:
        found.append(op_types[node])
        if op_types[node] not in STRIDED_VIEW_OP_TYPES:
            break
    return tuple(found)


def first_producers(graph: ComputationGraph) -> list[int]:
    """Return the number of the operator that computes each operator's first input, or -1."""
    producers = graph.producers.tolist()
    return [
        next((producers[at] for at in one.reads if at >= 0 and producers[at] >= 0), -1)
        for one in graph.operators
    ]


def kernel_sizes(
    graph: ComputationGraph, kernel: Kernel, reads: int, writes: int, first: Sequence[int]
) -> OperatorSizes:
    """Return the sizes of a kernel."""
    written = min(kernel.writes, default=None)
    dtype = graph.dtype if written is None else graph.tensors[written].dtype
    return OperatorSizes(
        op_type=_main_type(graph, kernel),
        flops=sum(int(graph.flops[node]) for node in kernel.members),
        reads=reads,
        writes=writes,
        parameters=bytes_read(graph, kernel, kernel.parameters),
        element_bytes=ELEMENT_BITS[dtype] / 8,
        behind=types_behind(graph.op_types, first, kernel.members[0]),
        window=_window(graph, kernel),
    )


def _window(graph: ComputationGraph, kernel: Kernel) -> int:
    extents = graph.operators[kernel.bearer].attributes.get("kernel_shape", ())
    return prod(int(one) for one in extents) if isinstance(extents, tuple) and extents else 0


def _main_type(graph: ComputationGraph, kernel: Kernel) -> str:
    types = {usual_type(graph.op_types[node]) for node in kernel.members}
    if {"MatMul", "Softmax"} <= types:
        return "Attention"
    bearer = graph.op_types[kernel.bearer]
    if "ReduceMean" in types and bearer in ELEMENTWISE_OP_TYPES:
        return "LayerNormalization"
    return bearer


def calibrated_seconds(
    sizes: OperatorSizes, device: Device, dtype: str, table: EfficiencyTable, *, launches: bool
) -> float:
    """Return how long a device takes for a kernel by a table of efficiencies.

    In a dtype that the table is not for, a kernel takes as long as one of as many bytes in the
    table's, but no less than its arithmetic takes at peak rate.
    """
    class_ = operator_class(sizes)
    if class_ == VIEW:
        return 0.0
    launch, *others = table.curve(class_).factors
    fitted = next((one for one in (dtype, *table.dtypes) if one in table.dtypes), dtype)
    rate = device.peak_rate.get(fitted, device.rate(dtype))
    found = terms(sizes, rate, device.memory_bandwidth, class_)
    factors = (launch if launches else 0.0, *others)
    seconds = sum(factor * term for factor, term in zip(factors, found, strict=True))
    return max(seconds, sizes.flops / device.rate(dtype))
