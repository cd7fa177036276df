"""Sizes that ONNX's shape inference leaves open, though there is an answer.

How many objects a detector finds depends on its data; such outputs are as large as they can be. The
operators of before version 7 have no inference at all. And exporters write dimensions as sums of
others, such as ``past_sequence_length + sequence_length``.

Exporters also write shapes as small programs: the shape of an input, a part of it, a product, a
concatenation. Where onnx's own shape inference does not follow one, its values are computed here
with numpy and written into the model, from which onnx infers the shape. onnx's own evaluator,
`onnx.reference`, takes ten times as long for a node of the model's version, and has no limits.
"""

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx.helper
import onnx.numpy_helper
from onnx import GraphProto, NodeProto, TensorProto

from boundmark.datasets.readers.onnx.operators import (
    KnownTensors,
    KnownType,
    domain_of,
    known_tensors,
)
from boundmark.problems.computation_graph import Shape

AS_LARGE = "sizes of whose outputs depend on data and are taken as large as they can be"

# In versions 1 to 6 of the operator set, the second input of sums is broadcast to the first.
_FORMER_ELEMENTWISE = frozenset(
    {"Abs", "Add", "BatchNormalization", "Cast", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp"}
    | {"Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min"}
    | {"Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Selu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh"}
)
_FORMER = _FORMER_ELEMENTWISE | {"Concat", "Gemm", "Reshape"}
_LAST_FORMER = 6


def former_types(node: NodeProto, known: KnownTensors, version: int) -> list[KnownType | None]:
    """Return types of the outputs of an operator of versions 1 to 6; none of other operators."""
    first = _type(node, known, 0)
    if version > _LAST_FORMER or node.domain or node.op_type not in _FORMER or first is None:
        return []
    settings = _settings(node)
    shape, element = first
    if node.op_type == "Gemm":
        other = _type(node, known, 1)
        if other is None or len(shape) != 2 or len(other[0]) != 2:
            return []
        shape = (
            shape[1 if settings.get("transA") else 0],
            other[0][0 if settings.get("transB") else 1],
        )
    elif node.op_type == "Concat":
        read = [_type(node, known, at) for at in range(len(node.input))]
        axis = settings.get("axis", 1)
        if not 0 <= axis < len(shape) or any(
            one is None or len(one[0]) != len(shape) for one in read
        ):
            return []
        extent = sum(one[0][axis] for one in read if one is not None)
        shape = (*shape[:axis], extent, *shape[axis + 1 :])
    elif node.op_type == "Reshape":
        asked = settings.get("shape", known.integers(node.input[1]) if node.input[1:] else None)
        found = None if asked is None else _reshaped(shape, asked)
        if found is None:
            return []
        shape = found
    elif node.op_type == "Cast":
        names = TensorProto.DataType
        name = str(settings.get("to", "")).upper()
        element = names.Value(name) if name in names.keys() else element  # noqa: SIM118
    return [(shape, element)]


def _reshaped(shape: Shape, asked: Any) -> Shape | None:
    """Return the shape that is asked for, with 0 for the same and -1 for the rest."""
    if any(extent == 0 and at >= len(shape) for at, extent in enumerate(asked)):
        return None
    found = [shape[at] if extent == 0 else extent for at, extent in enumerate(asked)]
    if found.count(-1) == 1:
        rest = prod(extent for extent in found if extent != -1)
        if not rest or prod(shape) % rest:
            return None
        found[found.index(-1)] = prod(shape) // rest
    return tuple(found) if prod(found) == prod(shape) and min(found, default=0) >= 0 else None


def largest_types(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    """Return types of outputs whose sizes depend on data, as large as they can be.

    None of operators whose sizes do not.
    """
    rule = _LARGEST.get(node.op_type) if not node.domain else None
    return [] if rule is None else rule(node, known)


def _non_zero(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    first = _type(node, known, 0)
    return [] if first is None else [((len(first[0]), prod(first[0])), TensorProto.INT64)]


def _non_max_suppression(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    """Return a row (batch, class, box) for each box and class, up to the number per class."""
    scores = _type(node, known, 1)
    if scores is None or len(scores[0]) != 3:
        return []
    batch, classes, boxes = scores[0]
    most = known.integers(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    each = min(boxes, most[0]) if most and most[0] > 0 else boxes
    return [((batch * classes * each, 3), TensorProto.INT64)]


def _unique(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    first = _type(node, known, 0)
    if first is None:
        return []
    shape, element = first
    axis = _settings(node).get("axis")
    if axis is not None and not -len(shape) <= axis < len(shape):
        return []
    counted = (prod(shape) if axis is None else shape[axis],)
    values = counted if axis is None else shape
    return [(values, element), *[(counted, int(TensorProto.INT64))] * 3]


def _compress(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    first = _type(node, known, 0)
    if first is None:
        return []
    shape = first[0] if "axis" in _settings(node) else (prod(first[0]),)
    return [(shape, first[1])]


def _like_input(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    return [_type(node, known, 0)]


def _top(node: NodeProto, known: KnownTensors) -> list[KnownType | None]:
    first = _type(node, known, 0)
    return [] if first is None else [first, (first[0], TensorProto.INT64)]


_LARGEST: Mapping[str, Callable[[NodeProto, KnownTensors], list[KnownType | None]]] = {
    "Compress": _compress,
    "NonMaxSuppression": _non_max_suppression,
    "NonZero": _non_zero,
    # Where it ends depends on data.
    "Slice": _like_input,
    "TopK": _top,
    "Unique": _unique,
}


def _type(node: NodeProto, known: KnownTensors, position: int) -> KnownType | None:
    name = node.input[position] if position < len(node.input) else ""
    return known.types.get(name)


def _settings(node: NodeProto) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type == attribute.INT:
            found[attribute.name] = attribute.i
        elif attribute.type == attribute.INTS:
            found[attribute.name] = tuple(attribute.ints)
        elif attribute.type == attribute.STRING:
            found[attribute.name] = attribute.s.decode(errors="replace")
    return found


# Longer ones were not written by an exporter.
LONGEST_EXPRESSION = 200

_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def computed_size(expression: str, sizes: Mapping[str, int]) -> int | None:
    """Return the size that an expression of other dimensions has; None if it is none.

    Expressions consist of names, integers, ``+``, ``-``, ``*``, ``//`` and parentheses.

    Examples
    --------
    >>> computed_size("past_sequence_length + 1", {"past_sequence_length": 128})
    129
    >>> computed_size("batch", {"past_sequence_length": 128})
    """
    if len(expression) > LONGEST_EXPRESSION:
        return None
    try:
        return _value(ast.parse(expression, mode="eval").body, sizes)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _value(part: ast.expr, sizes: Mapping[str, int]) -> int:
    if isinstance(part, ast.Name):
        return sizes[part.id]
    if isinstance(part, ast.Constant) and type(part.value) is int:
        return part.value
    if isinstance(part, ast.BinOp) and type(part.op) in _ARITHMETIC:
        return _ARITHMETIC[type(part.op)](_value(part.left, sizes), _value(part.right, sizes))
    raise ValueError(ast.dump(part))


Array: TypeAlias = npt.NDArray[Any]

# Elements; what a shape is computed from is short, and a file may ask for any size.
LARGEST = 2**14

Attributes: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Sequence[Array | None], Attributes], Array]


class _TooLargeError(ValueError):
    """A result is larger than any that a shape is computed from."""


def fold_constants(graph: GraphProto) -> bool:
    """Replace nodes by the small constants that they compute, and return whether there were any.

    A node keeps its place and its name. Nodes with bodies, of other domains than ONNX's own, and
    those that the table of rules does not have stay as they are, as do those with inputs that numpy
    refuses.
    """
    known = known_tensors(graph)
    values = {
        name: _array(tensor)
        for name, tensor in known.constants.items()
        if prod(tensor.dims) <= LARGEST and tensor.data_location != TensorProto.EXTERNAL
    }
    values = {name: value for name, value in values.items() if value is not None}
    is_changed = False
    for node in graph.node:
        found = _folded(node, values, known.types)
        if found is None:
            continue
        values[node.output[0]] = found
        if node.op_type != "Constant":
            _make_constant(node, found)
            is_changed = True
    return is_changed


def _array(tensor: TensorProto) -> Array | None:
    try:
        return onnx.numpy_helper.to_array(tensor)
    except (TypeError, ValueError):
        return None


def _folded(
    node: NodeProto, values: Mapping[str, Array | None], types: Mapping[str, Any]
) -> Array | None:
    """Return the result of a node; None if it depends on the model's inputs, or is not known."""
    if domain_of(node.domain) or len(node.output) != 1:
        return None
    if node.op_type in ("Shape", "Size"):
        if not node.input or node.input[0] not in types:
            return None
        given: list[Array | None] = [np.array(types[node.input[0]][0], np.int64)]
    else:
        if any(name and values.get(name) is None for name in node.input):
            return None
        given = [values[name] if name else None for name in node.input]
    rule = _RULES.get(node.op_type)
    if rule is None:
        return None
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(rule(given, attributes))
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        # The node is not what ONNX says, which those say who read it.
        return None
    return result if result.size <= LARGEST else None


def _make_constant(node: NodeProto, value: Array) -> None:
    name, output = node.name, node.output[0]
    tensor = onnx.numpy_helper.from_array(np.ascontiguousarray(value), f"{output}/value")
    made = onnx.helper.make_node("Constant", [], [output], name, value=tensor)
    node.CopyFrom(made)


def _given(inputs: Sequence[Array | None], at: int) -> Array:
    value = inputs[at]
    if value is None:
        raise ValueError(at)
    return value


def _optional(inputs: Sequence[Array | None], at: int, name: str, attributes: Attributes) -> Any:
    """Return what newer versions of an operator take as an input instead of an attribute."""
    if len(inputs) > at and inputs[at] is not None:
        return _given(inputs, at).tolist()
    return attributes.get(name)


def _limited(elements: float) -> None:
    if elements > LARGEST:
        raise _TooLargeError


def _shape(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    start, end = attributes.get("start", 0), attributes.get("end")
    return _given(inputs, 0)[start:end]


def _size(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    return np.array(prod(_given(inputs, 0).tolist()), np.int64)


def _filled(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    shape = _given(inputs, 0).tolist()
    _limited(prod(shape))
    value = attributes.get("value")
    given = np.zeros(1, np.float32) if value is None else onnx.numpy_helper.to_array(value)
    return np.full(shape, given.reshape(-1)[0])


def _slice(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    data = _given(inputs, 0)
    starts = _optional(inputs, 1, "starts", attributes)
    ends = _optional(inputs, 2, "ends", attributes)
    axes = _optional(inputs, 3, "axes", attributes) or range(len(starts))
    steps = _optional(inputs, 4, "steps", attributes) or [1] * len(starts)
    chosen: list[slice] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # To count backwards beyond the first element is to go there and take it.
        is_whole = step < 0 and end < -data.shape[axis]
        chosen[axis] = slice(start, None if is_whole else end, step)
    return data[tuple(chosen)]


def _expand(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    data = _given(inputs, 0)
    shape = np.broadcast_shapes(data.shape, tuple(_given(inputs, 1).tolist()))
    _limited(prod(shape))
    return np.broadcast_to(data, shape)


def _tile(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    data, repeats = _given(inputs, 0), _given(inputs, 1).tolist()
    _limited(data.size * prod(repeats))
    return np.tile(data, repeats)


def _range(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    start, limit, step = (_given(inputs, at).reshape(-1)[0] for at in range(3))
    _limited(abs((float(limit) - float(start)) / float(step)))
    return np.arange(start, limit, step)


def _reshape(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    data = _given(inputs, 0)
    shape = _given(inputs, 1).tolist()
    if not attributes.get("allowzero"):
        shape = [data.shape[at] if x == 0 else x for at, x in enumerate(shape)]
    return data.reshape(shape)


def _squeeze(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    axes = _optional(inputs, 1, "axes", attributes)
    return np.squeeze(_given(inputs, 0), None if axes is None else tuple(axes))


def _unsqueeze(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    return np.expand_dims(_given(inputs, 0), tuple(_optional(inputs, 1, "axes", attributes)))


def _cast(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    return _given(inputs, 0).astype(onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))


def _quotient(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    one, other = _given(inputs, 0), _given(inputs, 1)
    if one.dtype.kind not in "iu":
        return np.asarray(one / other)
    # Integers are cut off towards zero.
    quotient = np.abs(one) // np.abs(other)
    return np.asarray(np.sign(one) * np.sign(other) * quotient).astype(one.dtype)


def _product(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    axes = _optional(inputs, 1, "axes", attributes)
    data = _given(inputs, 0)
    keep = bool(attributes.get("keepdims", 1))
    result = np.prod(data, None if axes is None else tuple(axes), keepdims=keep)
    return np.asarray(result, data.dtype)


def _concatenation(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    parts = [_given(inputs, at) for at in range(len(inputs))]
    _limited(sum(part.size for part in parts))
    return np.concatenate(parts, attributes["axis"])


def _gather(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
    data, chosen = _given(inputs, 0), _given(inputs, 1)
    axis = attributes.get("axis", 0)
    extent = data.shape[axis] if data.ndim else 1
    _limited(data.size // max(1, extent) * chosen.size)
    return np.take(data, chosen, axis)


def _of(function: Callable[..., Any]) -> Rule:
    """Return the rule of a function of numpy that broadcasts; the result is of the inputs' kind."""

    def rule(inputs: Sequence[Array | None], attributes: Attributes) -> Array:
        given = [_given(inputs, at) for at in range(len(inputs))]
        _limited(prod(np.broadcast_shapes(*(one.shape for one in given))))
        return np.asarray(function(*given))

    return rule


_RULES: Mapping[str, Rule] = {
    "Shape": _shape,
    "Size": _size,
    "ConstantOfShape": _filled,
    "Identity": lambda inputs, attributes: _given(inputs, 0),
    "Slice": _slice,
    "Expand": _expand,
    "Tile": _tile,
    "Range": _range,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Cast": _cast,
    "Div": _quotient,
    "ReduceProd": _product,
    "Concat": _concatenation,
    "Gather": _gather,
    "Transpose": lambda inputs, attributes: np.transpose(_given(inputs, 0), attributes.get("perm")),
    "Where": _of(np.where),
    "Add": _of(np.add),
    "Sub": _of(np.subtract),
    "Mul": _of(np.multiply),
    "Mod": _of(np.mod),
    "Max": _of(np.maximum),
    "Min": _of(np.minimum),
    "Neg": _of(np.negative),
    "Abs": _of(np.abs),
    "Floor": _of(np.floor),
    "Ceil": _of(np.ceil),
    "Sqrt": _of(np.sqrt),
    "Not": _of(np.logical_not),
    "And": _of(np.logical_and),
    "Or": _of(np.logical_or),
    "Equal": _of(np.equal),
    "Less": _of(np.less),
    "Greater": _of(np.greater),
    "LessOrEqual": _of(np.less_equal),
    "GreaterOrEqual": _of(np.greater_equal),
}
