"""Arithmetic operations of ONNX operators, from the shapes of their inputs and outputs.

A multiply-add counts as two, and every elementwise function, `exp` included, as one per element.
Operators that only move, rename or create data count nothing. An operator that is not known here
counts one operation for each element that it puts out.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from boundmark.problems.computation_graph import Shape
from boundmark.problems.errors import InvalidInputError

Inputs: TypeAlias = Sequence[Shape | None]
Outputs: TypeAlias = Sequence[Shape]
Attributes: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Inputs, Outputs, Attributes], int]


def flops(
    op_type: str,
    inputs: Inputs,
    outputs: Outputs,
    attributes: Attributes,
    rule: Rule | None = None,
) -> int:
    """Return the number of operations of a node."""
    try:
        rule = rule or _RULES.get(op_type, _each_output)
        return rule(inputs, outputs, attributes)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        shown = ", ".join("none" if shape is None else str(list(shape)) for shape in inputs)
        raise InvalidInputError(
            f"expected inputs, shapes and attributes that {op_type} allows, found shapes {shown}."
        ) from error


def has_rule(op_type: str) -> bool:
    """Whether the operations of a type are counted by a rule of its own."""
    return op_type in _RULES


def given(inputs: Inputs, position: int) -> Shape:
    """Return the shape of an input that has to be there."""
    shape = inputs[position]
    if shape is None:
        raise ValueError(position)
    return shape


def optional(inputs: Inputs, at: int | None) -> Shape | None:
    """Return the shape of an input that may be left out."""
    return inputs[at] if at is not None and at < len(inputs) else None


def nothing(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count nothing, for what only moves data."""
    return 0


def _each_output(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    return sum(map(prod, outputs))


def per_output(count: int) -> Rule:
    """Return a rule that counts so many operations per element of the first output."""
    return lambda inputs, outputs, attributes: count * prod(outputs[0])


def per_input(count: int) -> Rule:
    """Return a rule that counts so many operations per element of the first input."""
    return lambda inputs, outputs, attributes: count * prod(given(inputs, 0))


def _variadic(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Combine n tensors by n - 1 operations per element."""
    return (len(inputs) - 1) * prod(outputs[0])


def convolution(weight_at: int, bias_at: int) -> Rule:
    """Return a rule that counts a multiply-add per output and weight of its filter.

    Weights are (M, C / group, ...).
    """

    def rule(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
        bias = optional(inputs, bias_at) is not None
        return prod(outputs[0]) * (2 * prod(given(inputs, weight_at)[1:]) + bias)

    return rule


def _transposed_convolution(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count a multiply-add per input and weight that it meets; weights (C, M / group, ...)."""
    bias = prod(outputs[0]) if optional(inputs, 2) is not None else 0
    return 2 * prod(given(inputs, 0)) * prod(given(inputs, 1)[1:]) + bias


def _gemm(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    rows, columns = given(inputs, 0)
    inner = rows if attributes.get("transA", 0) else columns
    bias = optional(inputs, 2) is not None
    return prod(outputs[0]) * (2 * inner + bias)


def _matrix_product(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    return 2 * prod(outputs[0]) * given(inputs, 0)[-1]


def _einsum(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count one operation per operand at every point of the index space."""
    extent: dict[str, int] = {}
    terms = attributes["equation"].replace(" ", "").split("->")[0].split(",")
    for position, term in enumerate(terms):
        shape = given(inputs, position)
        before, ellipsis, after = term.partition("...")
        free = len(shape) - len(before) - len(after) if ellipsis else 0
        # Dimensions under an ellipsis are aligned from the right, as in broadcasting.
        labels = [*before, *(f"...{place}" for place in range(free, 0, -1)), *after]
        for label, size in zip(labels, shape, strict=True):
            extent[label] = max(size, extent.get(label, 0))
    return len(terms) * prod(extent.values())


def _attention(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count scores, softmax and weighted sum: Q (batch, [heads,] length, width), K and V alike."""
    query, key = given(inputs, 0), given(inputs, 1)
    past = optional(inputs, 4)
    keys = key[-2] + (past[-2] if past is not None else 0)
    heads: int = query[1] if len(query) == 4 else attributes["q_num_heads"]
    rows = query[0] * heads * query[-2]
    return attention_flops(prod(query), prod(outputs[0]), rows, keys)


def attention_flops(queries: int, outputs: int, rows: int, keys: int) -> int:
    """Return the operations of scores, softmax and weighted sum."""
    return keys * (2 * (queries + outputs) + SOFTMAX * rows)


def pool(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count an operation per output and element of its window."""
    return prod(outputs[0]) * prod(attributes["kernel_shape"])


def _local_response(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count a square, size - 1 additions, scale, bias, power and division per element."""
    size: int = attributes["size"]
    return prod(outputs[0]) * (size + 4)


def _recurrent(inputs: Inputs, outputs: Outputs, attributes: Attributes) -> int:
    """Count two products per step, and an addition and a function for each gate's unit.

    X is (length, batch, input), W (directions, gates * units, input) and R (directions,
    gates * units, units).
    """
    steps = prod(given(inputs, 0)[:2])
    weights, recurrence = given(inputs, 1), given(inputs, 2)
    return 2 * steps * (prod(weights) + prod(recurrence) + prod(weights[:2]))


# Maximum, difference, exponential, sum and quotient.
SOFTMAX = 5

# Two products and a sum, by which positions turn queries and keys.
ROTATION = 3

_FREE = (
    "Concat Constant ConstantOfShape DepthToSpace Dropout Expand Flatten Gather GatherElements "
    "GatherND Identity Pad Reshape ScatterElements ScatterND Shape Size Slice SpaceToDepth Split "
    "Squeeze TensorScatter Tile Transpose Unsqueeze"
)

_REDUCTIONS = (
    "ArgMax ArgMin GlobalAveragePool GlobalMaxPool ReduceL1 ReduceMax ReduceMean ReduceMin "
    "ReduceProd ReduceSum"
)

_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_FREE.split(), nothing),
    **dict.fromkeys(_REDUCTIONS.split(), per_input(1)),
    # Square or exponential, and sum.
    **dict.fromkeys(("ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"), per_input(2)),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), _variadic),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), pool),
    **dict.fromkeys(("LogSoftmax", "Softmax"), per_output(SOFTMAX)),
    # Sum, difference, square, sum, quotient, scale and shift.
    **dict.fromkeys(
        ("GroupNormalization", "InstanceNormalization", "LayerNormalization"), per_output(7)
    ),
    # Square, sum, quotient and scale.
    "RMSNormalization": per_output(4),
    "RotaryEmbedding": per_output(ROTATION),
    # Activation and product.
    "SwiGLU": per_output(2),
    # Minimum, maximum and rounding.
    "DynamicQuantizeLinear": per_input(3),
    # Mean and variance are constants, so that scale and shift remain.
    "BatchNormalization": per_output(2),
    "LRN": _local_response,
    "Conv": convolution(weight_at=1, bias_at=2),
    # The third and fourth inputs are zero points.
    "ConvInteger": convolution(weight_at=1, bias_at=4),
    "QLinearConv": convolution(weight_at=3, bias_at=8),
    "ConvTranspose": _transposed_convolution,
    "Gemm": _gemm,
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _matrix_product),
    "Einsum": _einsum,
    "Attention": _attention,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
}
