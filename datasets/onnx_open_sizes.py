"""Sizes that ONNX's shape inference leaves open, though there is an answer.

How many objects a detector finds depends on its data; such outputs are as large as they can be. The
operators of before version 7 have no inference at all. And exporters write dimensions as sums of
others, such as ``past_sequence_length + sequence_length``.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from onnx import NodeProto, TensorProto

from boundmark.datasets.onnx_operators import KnownTensors, KnownType
from boundmark.problems.computation_graph import Shape

AS_LARGE = "sizes of whose outputs depend on data and are taken as large as they can be"

# Of versions 1 to 6 of the operator set; the second input of sums is broadcast to the first.
_FORMER_ELEMENTWISE = frozenset(
    {"Abs", "Add", "BatchNormalization", "Cast", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp"}
    | {"Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min"}
    | {"Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Selu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh"}
)
_FORMER = _FORMER_ELEMENTWISE | {"Concat", "Gemm", "Reshape"}
_LAST_FORMER = 6


def former_types(node: NodeProto, known: KnownTensors, version: int) -> list[KnownType | None]:
    """Return the types of the outputs of an operator of versions 1 to 6; none of other operators.

    Parameters
    ----------
    version
        Of the operator set that the model imports.
    """
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
