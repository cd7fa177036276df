"""Translates OpenVINO's operators to ONNX: names, attributes, and the arithmetic they do."""

from collections.abc import Mapping, Sequence
from math import prod

from boundmark.datasets.onnx_flops import SOFTMAX, flops, has_rule
from boundmark.datasets.openvino.layers import Layer
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator import AttributeValue
from boundmark.problems.quoted import quoted

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
    """Return the type of a layer as in ONNX, or OpenVINO's where ONNX has none."""
    if _is_linear(layer):
        return "Gemm"
    return _NAMES.get(layer.kind, layer.kind)


def weight_shape(layer: Layer, shape: Shape) -> Shape:
    """Return the shape of a layer's filters as in ONNX: groups are part of the first dimension."""
    is_grouped = layer.kind in ("GroupConvolution", "GroupConvolutionBackpropData")
    return (shape[0] * shape[1], *shape[2:]) if is_grouped and len(shape) > 3 else shape


def attributes(layer: Layer, inputs: Sequence[Shape], weights: Shape) -> dict[str, AttributeValue]:
    """Return what an operator is set to, in the words of ONNX.

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
    """Return the number of arithmetic operations; None if nothing is known of the type.

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
    """Whether a product is with a matrix whose rows belong to outputs."""
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
