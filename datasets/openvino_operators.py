"""OpenVINO's layers and edges as a file has them, and their operators by ONNX's names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from xml.etree.ElementTree import Element

from boundmark.datasets.onnx_flops import SOFTMAX, flops, has_rule
from boundmark.problems.computation_graph import AttributeValue
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming

# OpenVINO's names of element types.
_DTYPES: Mapping[str, str] = {
    "FP64": "float64", "FP32": "float32", "FP16": "float16", "BF16": "bfloat16",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "I4": "int4",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "U4": "uint4", "U2": "uint2",
    "BOOL": "bool", "BOOLEAN": "bool", "F8E4M3": "float8e4m3fn", "F8E5M2": "float8e5m2",
    "F8E8M0": "float8e8m0", "F4E2M1": "float4e2m1", "NF4": "int4",
}  # fmt: skip

# A tensor: the number of a layer, and of its port.
Port = tuple[str, str]


@dataclass(frozen=True)
class Layer:
    """One layer of a model.

    Attributes
    ----------
    data
        What it is set to.
    inputs, outputs
        Shape and type of each port, in order, by the port's number.
    """

    number: str
    name: str
    kind: str
    data: Mapping[str, str]
    inputs: Mapping[str, tuple[tuple[int, ...], str]]
    outputs: Mapping[str, tuple[tuple[int, ...], str]]


def read_layers(root: Element) -> list[Layer]:
    """Return the layers in the order of the file.

    Raises
    ------
    InvalidInputError
        If the root is no model, a field is missing, or a shape is open.
    """
    if root.tag != "net":
        raise InvalidInputError(
            f"the root is {quoted(root.tag)}; expected 'net', OpenVINO's model."
        )
    listed = root.find("layers")
    if listed is None or not len(listed):
        raise InvalidInputError("layers is missing or empty; expected a model of version 10 or 11.")
    found: dict[str, Layer] = {}
    for element in listed:
        layer = _layer(element)
        if layer.number in found:
            raise InvalidInputError(f"layer id {quoted(layer.number)} occurs twice; expected once.")
        found[layer.number] = layer
    return list(found.values())


def read_edges(root: Element, layers: list[Layer]) -> dict[Port, Port]:
    """Return for each input port that something is connected to the output port that it reads.

    Raises
    ------
    InvalidInputError
        If an edge names no port of a layer, or an input has two edges.
    """
    listed = root.find("edges")
    known = {layer.number: layer for layer in layers}
    found: dict[Port, Port] = {}
    for at, element in enumerate(listed if listed is not None else ()):
        with naming(f"edge {at}"):
            names = ("from-layer", "from-port", "to-layer", "to-port")
            tail, out, head, into = (_attribute(element, name) for name in names)
            for layer, port, ports in ((tail, out, "outputs"), (head, into, "inputs")):
                if layer not in known or port not in getattr(known[layer], ports):
                    raise InvalidInputError(
                        f"layer {quoted(layer)} has no port {quoted(port)} among its {ports}."
                    )
            if (head, into) in found:
                raise InvalidInputError(
                    f"port {quoted(into)} of layer {quoted(head)} has two edges; expected one."
                )
            found[head, into] = (tail, out)
    return found


def _layer(element: Element) -> Layer:
    name = _attribute(element, "name")
    with naming(f"layer {quoted(name)}"):
        data = element.find("data")
        return Layer(
            _attribute(element, "id"),
            name,
            _attribute(element, "type"),
            {} if data is None else dict(data.attrib),
            _ports(element, "input"),
            _ports(element, "output"),
        )


def _ports(layer: Element, side: str) -> dict[str, tuple[tuple[int, ...], str]]:
    listed = layer.find(side)
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for element in listed if listed is not None else ():
        number = _attribute(element, "id")
        shape = tuple(_extent(dim.text, number) for dim in element.iter("dim"))
        precision = element.get("precision", "FP32")
        if precision.upper() not in _DTYPES:
            raise InvalidInputError(
                f"precision of port {quoted(number)} is {quoted(precision)}; expected "
                f"one of {', '.join(_DTYPES)}."
            )
        found[number] = (shape, _DTYPES[precision.upper()])
    return found


def _extent(text: str | None, port: str) -> int:
    written = (text or "").strip()
    if written == "-1":
        raise InvalidInputError(
            f"port {quoted(port)} has a dimension of open size; expected a model of fixed sizes, "
            "e.g. after openvino.Model.reshape."
        )
    if not (written.isascii() and written.isdecimal() and len(written) < 19):
        raise InvalidInputError(
            f"dim of port {quoted(port)} is {quoted(written)}; expected an integer."
        )
    return int(written)


def _attribute(element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise InvalidInputError(f"{name} of <{element.tag}> is missing.")
    return value


Shape = tuple[int, ...]

# Those that are called the same in ONNX are not listed.
_NAMES: Mapping[str, str] = {
    "AdaptiveAvgPool": "AveragePool", "AdaptiveMaxPool": "MaxPool", "AvgPool": "AveragePool",
    "BatchNormInference": "BatchNormalization", "Broadcast": "Expand", "Clamp": "Clip",
    "Convert": "Cast", "Convolution": "Conv", "ConvolutionBackpropData": "ConvTranspose",
    "Divide": "Div", "GRUCell": "GRU",
    "GRUSequence": "GRU", "GreaterEqual": "GreaterOrEqual", "GroupConvolution": "Conv",
    "GroupConvolutionBackpropData": "ConvTranspose", "HSigmoid": "HardSigmoid",
    "HSwish": "HardSwish", "Interpolate": "Resize", "LSTMCell": "LSTM", "LSTMSequence": "LSTM",
    "LessEqual": "LessOrEqual", "LogicalAnd": "And", "LogicalNot": "Not", "LogicalOr": "Or",
    "LogicalXor": "Xor", "MVN": "LayerNormalization", "Maximum": "Max", "Minimum": "Min",
    "Multiply": "Mul", "Negative": "Neg", "NotEqual": "Not", "PReLU": "PRelu", "Power": "Pow",
    "RMS": "RMSNormalization", "RNNCell": "RNN", "RNNSequence": "RNN", "ReLU": "Relu",
    "ReduceLogicalAnd": "ReduceMin", "ReduceLogicalOr": "ReduceMax", "SeLU": "Selu",
    "ScaledDotProductAttention": "Attention", "ScatterNDUpdate": "ScatterND",
    "ScatterElementsUpdate": "ScatterElements", "Select": "Where", "ShapeOf": "Shape",
    "SoftMax": "Softmax", "SoftPlus": "Softplus",
    "StridedSlice": "Slice", "Subtract": "Sub", "VariadicSplit": "Split",
}  # fmt: skip

_ELEMENTWISE = frozenset(
    {"Abs", "Acos", "Add", "And", "Asin", "Atan", "Cast", "Ceiling", "Clip", "Cos", "Cosh", "Div"}
    | {"Elu", "Equal", "Erf", "Exp", "Floor", "FloorMod", "Gelu", "Greater", "GreaterOrEqual"}
    | {"HardSigmoid", "HardSwish", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Min", "Mish"}
    | {"Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Relu", "Round", "Selu", "Sigmoid"}
    | {"Sign", "Sin", "Sinh", "Softplus", "Sqrt", "SquaredDifference", "Sub", "Swish", "Tan"}
    | {"Tanh", "Where", "Xor"}
)

_WINDOWS = frozenset({"Conv", "ConvTranspose", "AveragePool", "MaxPool"})

_LISTS = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0}


def op_type(layer: Layer) -> str:
    """Return the ONNX type of a layer, or OpenVINO's where ONNX has no such operator."""
    if _is_linear(layer):
        return "Gemm"
    return _NAMES.get(layer.kind, layer.kind)


def weight_shape(layer: Layer, shape: Shape) -> Shape:
    """Return the shape of a layer's filters as in ONNX: groups are part of the first dimension."""
    is_grouped = layer.kind in ("GroupConvolution", "GroupConvolutionBackpropData")
    return (shape[0] * shape[1], *shape[2:]) if is_grouped and len(shape) > 3 else shape


def attributes(layer: Layer, inputs: Sequence[Shape], weights: Shape) -> dict[str, AttributeValue]:
    """Return an operator's attributes, by ONNX's names.

    Parameters
    ----------
    weights
        Shape of the second input as `weight_shape` has it; empty if there is none.
    """
    kind = op_type(layer)
    if kind == "Gemm":
        return {"transB": 1}
    if kind in _WINDOWS:
        return _window(layer, kind, inputs, weights)
    if kind == "LRN":
        return {"size": _integer(layer, "size")}
    if kind in ("Concat", "Softmax", "LogSoftmax") and "axis" in layer.data:
        return {"axis": _integer(layer, "axis") % max(1, len(inputs[0]))}
    return {}


def operations(
    layer: Layer, inputs: Sequence[Shape], outputs: Sequence[Shape], set_to: Mapping[str, object]
) -> int | None:
    """Return the number of arithmetic operations; None if the type is unknown.

    Raises
    ------
    InvalidInputError
        If shapes are not what the operator asks for.
    """
    kind = op_type(layer)
    if kind in ("MatMul", "Gemm"):
        inner = inputs[0][-2 if _is_true(layer, "transpose_a") and len(inputs[0]) > 1 else -1]
        return 2 * prod(outputs[0]) * inner
    if kind == "Attention":
        query, keys = inputs[0], inputs[1][-2]
        products = 2 * keys * (prod(query) + prod(outputs[0]))
        return products + SOFTMAX * prod(query[:-1]) * keys
    if layer.kind in ("LSTMSequence", "GRUSequence", "RNNSequence"):
        batch, length = inputs[0][:2]
        return _recurrent(batch * length, [shape for shape in inputs if len(shape) == 3][-2:])
    if layer.kind in ("LSTMCell", "GRUCell", "RNNCell"):
        matrices = [shape for shape in inputs if len(shape) == 2][-2:]
        return _recurrent(inputs[0][0], matrices)
    if kind in _ELEMENTWISE:
        return prod(outputs[0])
    if has_rule(kind):
        return flops(kind, inputs, outputs, set_to)
    return None


def _recurrent(steps: int, matrices: Sequence[Shape]) -> int:
    """Count two products per step, and two operations for each gate's unit."""
    return 2 * steps * sum(prod(shape) + prod(shape[:-1]) // 2 for shape in matrices)


def _window(
    layer: Layer, kind: str, inputs: Sequence[Shape], weights: Shape
) -> dict[str, AttributeValue]:
    dims = len(inputs[0]) - 2
    found: dict[str, tuple[int, ...]] = {}
    for name, usual in _LISTS.items():
        found[name] = _integers(layer, name) if name in layer.data else (usual,) * dims
    is_pool = kind in ("AveragePool", "MaxPool")
    if layer.kind.startswith("Adaptive"):
        outputs = [shape for shape, _ in layer.outputs.values()]
        kernel = tuple(-(-a // b) for a, b in zip(inputs[0][2:], outputs[0][2:], strict=True))
        found["strides"] = tuple(
            max(1, a // b) for a, b in zip(inputs[0][2:], outputs[0][2:], strict=True)
        )
    else:
        kernel = _integers(layer, "kernel") if is_pool else weights[2:]
    for name, values in {**found, "kernel": kernel}.items():
        if len(values) != dims:
            raise InvalidInputError(f"{name} is {quoted(values)}; expected {dims} integers.")
    one: dict[str, AttributeValue] = {
        "kernel_shape": kernel,
        "strides": found["strides"],
        "dilations": found["dilations"],
        "pads": (*found["pads_begin"], *found["pads_end"]),
    }
    return one if is_pool else {**one, "group": max(1, inputs[0][1] // max(1, _per_group(layer)))}


def _per_group(layer: Layer) -> int:
    """Return how many channels of the input each filter of a convolution sees."""
    shape = list(layer.inputs.values())[1][0]
    at = {"Convolution": 1, "ConvolutionBackpropData": 0, "GroupConvolution": 2}.get(layer.kind, 1)
    return shape[at]


def _is_linear(layer: Layer) -> bool:
    """Whether a product's second matrix has a row for each output."""
    shapes = [shape for shape, _ in layer.inputs.values()]
    return (
        layer.kind == "MatMul"
        and len(shapes) == 2
        and len(shapes[1]) == 2
        and _is_true(layer, "transpose_b")
        and not _is_true(layer, "transpose_a")
    )


def _is_true(layer: Layer, name: str) -> bool:
    return layer.data.get(name, "false").lower() in ("true", "1")


def _integers(layer: Layer, name: str) -> tuple[int, ...]:
    text = layer.data.get(name, "")
    try:
        return tuple(int(one) for one in text.split(",")) if text.strip() else ()
    except ValueError as error:
        raise InvalidInputError(f"{name} is {quoted(text)}; expected integers.") from error


def _integer(layer: Layer, name: str) -> int:
    values = _integers(layer, name)
    if len(values) != 1:
        raise InvalidInputError(f"{name} is {quoted(layer.data.get(name))}; expected an integer.")
    return values[0]
