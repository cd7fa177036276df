"""Attributes of ONNX operators in one form, however a model spells them.

An attribute that is left out has the default of the operator's version. What newer versions take as
an input instead of an attribute (axes of Squeeze, starts and ends of Slice) is an attribute here
if it is a constant. Windows have all of kernel_shape, strides, dilations and pads, and nothing
automatic; axes count from 0 up. What shapes say as well is left out, and so are attributes that are
tensors, types or graphs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx.defs
from onnx import AttributeProto, NodeProto

from boundmark.datasets.onnx_tensors import Shape
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator import AttributeValue

# Position of the weights, whose shape ends in that of the window.
CONVOLUTIONS: Mapping[str, int] = {
    "Conv": 1,
    "ConvInteger": 1,
    "ConvTranspose": 1,
    "DeformConv": 1,
    "QLinearConv": 3,
}
POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})

# Up to version 12, these flatten all dimensions from the axis on.
SOFTMAXES = frozenset({"Hardmax", "LogSoftmax", "Softmax"})

# Inputs that are attributes in other versions.
FORMER_ATTRIBUTES = frozenset({"axes", "ends", "pads", "starts", "steps"})

# What they say is in the shapes of inputs and outputs.
IMPLIED = frozenset(
    {"auto_pad", "ceil_mode", "keepdims", "noop_with_empty_axes"}
    | {"num_outputs", "output_shape", "split"}
)

_KINDS = frozenset(
    {AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING}
    | {AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS}
)


@dataclass(frozen=True)
class Signature:
    """The signature that ONNX gives an operator in one version.

    Attributes
    ----------
    version
        Of the operator set; 0 if the model imports none that has the operator.
    defaults
        Of the attributes that have one.
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
    """Return a node's attributes by name.

    Parameters
    ----------
    known
        What ONNX says of the operator in the model's version.
    inputs
        Shapes by position, None where an optional input is left out.
    outputs
        Shapes of the outputs that are used.
    integers
        Returns the values of a tensor if it is a constant of integers, by name.

    Raises
    ------
    InvalidInputError
        If attributes or shapes are not what the operator asks for.
    """
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
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
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
    # Whichever of input and output is larger has the window slide over it.
    larger, smaller = (inputs[0] or ())[2:], outputs[0][2:]
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
    """Give an operator the axes that it works on if it names none, and count them from 0 up.

    Parameters
    ----------
    is_dynamic
        Whether an input names the axes that is no constant.
    """
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
