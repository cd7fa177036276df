"""Constants of ONNX graphs: small ones are folded with numpy, and quantised ones stay as stored.

Exporters write shapes as small programs: the shape of an input, a part of it, a product, a
concatenation. Where onnx's own shape inference does not follow one, its values are computed here
and written into the model, from which onnx infers the shape.

Weights that a DequantizeLinear turns into numbers are read as they are stored: runtimes do that
inside of the product that reads them, or compute with integers, and never write the numbers.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx.helper
import onnx.numpy_helper
from onnx import GraphProto, NodeProto, TensorProto

from boundmark.datasets.onnx_operators import domain_of, is_dequantisation, known_tensors

Array: TypeAlias = npt.NDArray[Any]

# Elements; what a shape is computed from is short, and a file may ask for any size.
LARGEST = 2**14

Attributes: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Sequence[Array | None], Attributes], Array]


class _TooLargeError(ValueError):
    """A result is larger than any that a shape is computed from."""


@dataclass(frozen=True)
class StoredConstant:
    """Where a constant is stored that the model dequantises.

    Attributes
    ----------
    elements
        Name of the tensor of quantised elements.
    beside
        Names of those of scales and zero points.
    """

    elements: str
    beside: tuple[str, ...]


# What may come between a dequantisation and whoever reads its result, one element for each.
_REARRANGING = frozenset(
    {"Cast", "CastLike", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
)


def stored_constants(graph: GraphProto, constants: Container[str]) -> dict[str, StoredConstant]:
    """Return where dequantised constants are stored, by name, also if they are rearranged then.

    Parameters
    ----------
    constants
        Names of all constants.
    """
    stored: dict[str, StoredConstant] = {}
    for node in graph.node:
        if not node.input or not node.output or node.output[0] not in constants:
            continue
        if is_dequantisation(node):
            stored[node.output[0]] = StoredConstant(
                node.input[0], tuple(filter(None, node.input[1:]))
            )
        elif node.op_type in _REARRANGING and node.input[0] in stored:
            stored[node.output[0]] = stored[node.input[0]]
    return stored


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
        found = _value(node, values, known.types)
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


def _value(
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
    "Concat": lambda inputs, attributes: np.concatenate(
        [_given(inputs, at) for at in range(len(inputs))], attributes["axis"]
    ),
    "Gather": lambda inputs, attributes: np.take(
        _given(inputs, 0), _given(inputs, 1), attributes.get("axis", 0)
    ),
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
