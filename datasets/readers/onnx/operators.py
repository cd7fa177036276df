"""Tensors and operators of an ONNX graph: shapes, small values, and attributes.

Attributes have one form, however a model spells them. An attribute that is left out has the default
of the operator's version. What newer versions take as an input instead of an attribute (axes of
Squeeze, starts and ends of Slice) is an attribute here if it is a constant. Windows have all of
kernel_shape, strides, dilations and pads, and nothing automatic; axes count from 0 up. What shapes
say as well is left out, and so are attributes that are tensors, types or graphs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, TypeAlias

import onnx.checker
import onnx.defs
import onnx.numpy_helper
import onnx.shape_inference
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from boundmark.problems.computation_graph import ELEMENT_BITS, AttributeValue, Shape, Tensor
from boundmark.problems.errors import InvalidInputError, quoted

# Operators are set to this many integers, such as axes, at most; longer lists are data.
MOST_VALUES = 64

# Shape and element type.
KnownType: TypeAlias = tuple[Shape, int]

# What onnx raises where it infers shapes, beside RuntimeError and ValueError.
ONNX_ERRORS = (onnx.checker.ValidationError, onnx.shape_inference.InferenceError)

_RENAMED = {"float": "float32", "double": "float64"}


@dataclass(frozen=True)
class KnownTensors:
    """The types and constants that a graph states for its tensors, by name.

    Attributes
    ----------
    types
        Shape and element type of those of which both are fully known.
    constants
        Those whose values are in the graph itself.
    unsupported
        What those are that are no tensors of numbers, e.g. ``"a sequence"``.
    """

    types: Mapping[str, KnownType]
    constants: Mapping[str, TensorProto]
    unsupported: Mapping[str, str]

    def describe(self, name: str) -> Tensor:
        """Return the tensor of a name."""
        if name in self.unsupported:
            raise InvalidInputError(
                f"{name!r} is {self.unsupported[name]}, which is not supported; "
                "expected a tensor of numbers."
            )
        if name not in self.types:
            raise InvalidInputError(
                f"the shape of tensor {name!r} is unknown; expected one that follows from "
                "the shapes of the inputs: store it in the model as value_info, or export a "
                "PyTorch model with dynamo=True, or with torch.export.save to a .pt2 file."
            )
        shape, element = self.types[name]
        kind = _element_type(element)
        dtype = _RENAMED.get(kind, kind)
        if dtype not in ELEMENT_BITS:
            raise InvalidInputError(
                f"tensor {name!r} has elements of type {kind}; expected numbers."
            )
        return Tensor(name, shape, dtype)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return the values of a constant with few integer elements; None for other tensors."""
        tensor = self.constants.get(name)
        if (
            tensor is None
            or tensor.data_type not in (TensorProto.INT64, TensorProto.INT32)
            or tensor.data_location == TensorProto.EXTERNAL
            or prod(tensor.dims) > MOST_VALUES
        ):
            return None
        try:
            return tuple(int(value) for value in onnx.numpy_helper.to_array(tensor).ravel())
        except ValueError as error:
            raise InvalidInputError(
                f"the values of tensor {name!r} do not fit its shape, {list(tensor.dims)}; "
                "expected one for each element."
            ) from error


@cache
def _element_type(element: int) -> str:
    known = element in TensorProto.DataType.values()
    return TensorProto.DataType.Name(element).lower() if known else "unknown"


def known_tensors(graph: GraphProto) -> KnownTensors:
    """Collect types and constants after shape inference."""
    values = (*graph.value_info, *graph.input, *graph.output)
    types = dict(typed(values))
    unsupported = {value.name: kind for value in values if (kind := _unsupported(value.type))}
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for name, tensor in constants.items():
        types[name] = (tuple(tensor.dims), tensor.data_type)
        if tensor.data_type == TensorProto.STRING:
            unsupported[name] = _STRINGS
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            constants.update((node.output[0], tensor) for tensor in _values_of(node))
        source = next((name for name in node.input if name in unsupported), None)
        if source is not None:
            # Shapes do not follow from what is none of the tensors of numbers.
            reason = f"computed from {source!r}, {unsupported[source].rpartition(', ')[2]}"
            unsupported.update(
                (name, reason)
                for name in node.output
                if name and name not in types and name not in unsupported
            )
    return KnownTensors(types, constants, unsupported)


def _values_of(constant: NodeProto) -> Iterable[TensorProto]:
    """Yield the value of a Constant, if it is a tensor or integers."""
    for attribute in constant.attribute:
        if attribute.name == "value":
            yield attribute.t
        elif attribute.name == "value_int":
            yield onnx.helper.make_tensor("", TensorProto.INT64, (), [attribute.i])
        elif attribute.name == "value_ints":
            shape = (len(attribute.ints),)
            yield onnx.helper.make_tensor("", TensorProto.INT64, shape, attribute.ints)


_STRINGS = "a tensor of strings"
_UNSUPPORTED = {
    "sequence_type": "a sequence",
    "optional_type": "an optional",
    "map_type": "a map",
    "sparse_tensor_type": "a sparse tensor",
}


def _unsupported(kind: TypeProto) -> str | None:
    """Return what is neither a tensor of numbers nor unknown."""
    if kind.tensor_type.elem_type == TensorProto.STRING:
        return _STRINGS
    return _UNSUPPORTED.get(kind.WhichOneof("value") or "")


def typed(values: Iterable[ValueInfoProto]) -> Iterable[tuple[str, KnownType]]:
    """Yield name and type of those values that are tensors of known shape."""
    for value in values:
        kind = value.type.tensor_type
        known = value.type.HasField("tensor_type") and kind.HasField("shape") and kind.elem_type
        if known and all(d.HasField("dim_value") and d.dim_value >= 0 for d in kind.shape.dim):
            yield value.name, (tuple(d.dim_value for d in kind.shape.dim), kind.elem_type)


# Largest size of one dimension that ONNX can store.
LARGEST_EXTENT = 2**63 - 1


def set_type(value: ValueInfoProto, kind: KnownType) -> None:
    """State the type of a tensor."""
    shape, element = kind
    if max(shape, default=0) > LARGEST_EXTENT:
        raise InvalidInputError(
            f"tensor {quoted(value.name)} would have a size of {max(shape)}; expected at most "
            "2^63 - 1."
        )
    value.type.tensor_type.elem_type = element
    value.type.tensor_type.ClearField("shape")
    value.type.tensor_type.shape.SetInParent()
    for extent in shape:
        value.type.tensor_type.shape.dim.add().dim_value = extent


# Position of the weights, whose shape ends in that of the window.
CONVOLUTIONS: Mapping[str, int] = {
    "Conv": 1,
    "ConvInteger": 1,
    "ConvTranspose": 1,
    "DeformConv": 1,
    "FusedConv": 1,
    "QLinearConv": 3,
}
POOLS = frozenset({"AveragePool", "LpPool", "MaxPool", "QLinearAveragePool"})

# Up to version 12, these flatten all dimensions from the axis on.
SOFTMAXES = frozenset({"Hardmax", "LogSoftmax", "Softmax"})

# Inputs that are attributes in other versions.
FORMER_ATTRIBUTES = frozenset({"axes", "ends", "pads", "starts", "steps"})

# Attributes that follow from the shapes of inputs and outputs.
IMPLIED = frozenset(
    {"auto_pad", "ceil_mode", "keepdims", "noop_with_empty_axes"}
    | {"num_outputs", "output_shape", "split"}
)

_KINDS = frozenset(
    {AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING}
    | {AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS}
)


# The domain of the operators that onnxruntime adds.
ONNXRUNTIME = "com.microsoft"


def domain_of(name: str) -> str:
    """Return the name of an operator set's domain; that of ONNX itself has two spellings."""
    return "" if name == "ai.onnx" else name


def is_dequantisation(node: NodeProto) -> bool:
    """Whether a node turns quantised elements into numbers, by scales and zero points."""
    return node.op_type == "DequantizeLinear" and domain_of(node.domain) in ("", ONNXRUNTIME)


@dataclass(frozen=True)
class Signature:
    """The signature that ONNX gives an operator in one version.

    Attributes
    ----------
    version
        Version of the operator set; 0 if the model imports none that has the operator.
    defaults
        Defaults of the attributes that have one.
    inputs
        The names of the inputs by position.
    """

    version: int
    defaults: Mapping[str, AttributeValue]
    inputs: tuple[str, ...]


@cache
def signature(op_type: str, version: int, domain: str) -> Signature:
    """Return the signature of an operator; an empty one if ONNX does not know it."""
    if not onnx.defs.has(op_type, version, domain):
        return Signature(0, {}, ())
    schema = onnx.defs.get_schema(op_type, version, domain)
    defaults = {
        name: _value(attribute.default_value)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type in _KINDS
    }
    return Signature(version, defaults, tuple(formal.name for formal in schema.inputs))


def canonical_attributes(
    node: NodeProto,
    known: Signature,
    inputs: Sequence[Shape | None],
    outputs: Sequence[Shape],
    integers: Callable[[str], tuple[int, ...] | None],
) -> dict[str, AttributeValue]:
    """Return a node's attributes by name."""
    found: dict[str, Any] = dict(known.defaults)
    for attribute in node.attribute:
        if attribute.type in _KINDS:
            found[attribute.name] = _value(attribute)
    is_dynamic = False
    for name, tensor in zip(known.inputs, node.input, strict=False):
        if name in FORMER_ATTRIBUTES and tensor:
            values = integers(tensor)
            if values is not None:
                found[name] = values
            elif name == "axes":
                is_dynamic = True
    try:
        if node.op_type in CONVOLUTIONS or node.op_type in POOLS:
            _complete_window(node.op_type, found, inputs, outputs)
        elif node.op_type == "Transpose":
            found.setdefault("perm", tuple(reversed(range(len(inputs[0] or ())))))
        else:
            _complete_axes(node.op_type, known.version, is_dynamic, found, inputs, outputs)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"expected attributes and shapes that {node.op_type} allows, found "
            f"{', '.join(f'{name} = {value}' for name, value in sorted(found.items()))}."
        ) from error
    return {name: found[name] for name in sorted(found) if name not in IMPLIED}


def _value(attribute: AttributeProto) -> AttributeValue:
    value: Any = onnx.helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRING:
        return str(value.decode(errors="replace"))
    if attribute.type == AttributeProto.STRINGS:
        return tuple(item.decode(errors="replace") for item in value)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return tuple(value)
    scalar: AttributeValue = value
    return scalar


def _complete_window(
    op_type: str,
    found: dict[str, Any],
    inputs: Sequence[Shape | None],
    outputs: Sequence[Shape],
) -> None:
    """Give a convolution or pooling all that describes its window, and pads as numbers."""
    if op_type in CONVOLUTIONS and "kernel_shape" not in found:
        weights = inputs[CONVOLUTIONS[op_type]] if len(inputs) > CONVOLUTIONS[op_type] else None
        found["kernel_shape"] = (weights or ())[2:]
    kernel = found.get("kernel_shape", ())
    strides = found.setdefault("strides", (1,) * len(kernel))
    dilations = found.setdefault("dilations", (1,) * len(kernel))
    mode = found.get("auto_pad", "NOTSET")
    if not mode.startswith("SAME") and "output_shape" not in found:
        found.setdefault("pads", (0,) * (2 * len(kernel)))
        return
    image = slice(1, -1) if found.get("channels_last", 0) else slice(2, None)
    # Whichever of input and output is larger has the window slide over it.
    larger, smaller = (inputs[0] or ())[image], outputs[0][image]
    extra = (0,) * len(kernel)
    if op_type == "ConvTranspose":
        larger, smaller = smaller, larger
        extra = found.get("output_padding", extra)
    total = [
        max(0, (few - 1) * stride + (size - 1) * dilation + 1 + more - many)
        for few, many, stride, size, dilation, more in zip(
            smaller, larger, strides, kernel, dilations, extra, strict=True
        )
    ]
    less = [pad // 2 for pad in total]
    rest = [pad - pad // 2 for pad in total]
    found["pads"] = tuple(less + rest if mode == "SAME_UPPER" else rest + less)


def _complete_axes(
    op_type: str,
    version: int,
    is_dynamic: bool,
    found: dict[str, Any],
    inputs: Sequence[Shape | None],
    outputs: Sequence[Shape],
) -> None:
    """Complete the axes of an operator, and count them from 0 up."""
    shape = (inputs[0] if inputs else None) or ()
    rank = len(outputs[0]) if op_type in ("OneHot", "Unsqueeze") else len(shape)
    if op_type in SOFTMAXES:
        axis = found.pop("axis") % max(1, rank)
        found["axes"] = tuple(range(axis, rank)) if version < 13 else (axis,)
    elif op_type == "Slice" and "starts" in found:
        found.setdefault("axes", tuple(range(len(found["starts"]))))
        found.setdefault("steps", (1,) * len(found["starts"]))
    elif op_type == "Squeeze" and not is_dynamic:
        found.setdefault("axes", tuple(at for at, extent in enumerate(shape) if extent == 1))
    elif op_type.startswith("Reduce") and not is_dynamic and not found.get("axes"):
        found["axes"] = () if found.get("noop_with_empty_axes") else tuple(range(rank))
    if "axes" in found:
        axes = tuple(axis % max(1, rank) for axis in found["axes"])
        # Those of Pad and Slice belong to other lists, position by position.
        found["axes"] = axes if op_type in ("Pad", "Slice") else tuple(sorted(axes))
    if found.get("axis", 0) < 0:
        found["axis"] += rank
