"""Computation graphs from OpenVINO IR: shapes are in the file, operations are counted.

Operators have ONNX's names.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from boundmark.datasets.file_format import FileFormat, Notes, main_dtype, with_scales
from boundmark.datasets.readers.onnx.flops import SOFTMAX, flops, has_rule
from boundmark.problems.computation_graph import (
    ELEMENT_BITS,
    LEFT_OUT,
    AttributeValue,
    ComputationGraph,
    Operator,
    Tensor,
)
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes

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
    """Return the layers in the order of the file."""
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
    """Return for each input port that something is connected to the output port that it reads."""
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
    """Return an operator's attributes, by ONNX's names."""
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
    """Return the number of arithmetic operations; None if the type is unknown."""
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


# Layers that are no operators.
INPUTS, CONSTANTS, RESULTS = ("Parameter",), ("Const", "Constant"), ("Result",)

# Elements of more bits are numbers themselves.
QUANTISED_BITS = 8

# What they yield is known before the model runs.
SHAPES = ("ShapeOf",)


def load(path: str | Path) -> ComputationGraph:
    """Read a model; its weights, in a file of their own, are not needed.

    A layer whose inputs are all constants is a constant itself, such as the conversion of stored
    weights, and so is the result of ShapeOf. Quantised weights, which such layers make numbers of,
    are parameters as they are stored, with scales and zero points behind all inputs. Layers that no
    result depends on are left out. An operator of a type of which nothing is known costs the bytes
    that it moves, and a note says so.

    Raises
    ------
    InvalidInputError
        If the file is no such model, is cut off, has a cycle or leaves sizes open.
    """
    path = Path(path)
    content = read_bytes(path, "a model", LARGEST_FILE)
    with naming(path):
        return graph_of(*parts(content))


def parts(content: bytes) -> tuple[list[Layer], dict[Port, Port]]:
    """Return a model's layers, and for each input port the output port that it reads."""
    root = _parsed_xml(content)
    layers = read_layers(root)
    return layers, read_edges(root, layers)


def graph_of(layers: list[Layer], edges: dict[Port, Port]) -> ComputationGraph:
    """Return the graph of the layers that run, called as the layers are if these have own names."""
    ordered = _in_order(layers, edges)
    constants = _constants(ordered, edges)
    needed = _needed(ordered, edges)
    kept = [
        layer
        for layer in ordered
        if layer.number in needed - constants and layer.kind not in (*INPUTS, *RESULTS)
    ]
    names = _unique_names(kept)
    numbers: dict[Port, int] = {}
    tensors: list[Tensor] = []
    known = {layer.number: layer for layer in layers}
    notes = Notes()
    stored = _stored(ordered, edges, constants)

    def tensor(port: Port, reader: Layer | None = None) -> int:
        if port not in numbers:
            layer = known[port[0]]
            shape, dtype = layer.outputs[port[1]]
            dtype = stored[port].dtype if port in stored else dtype
            if reader is not None and layer.number in constants:
                shape = weight_shape(reader, shape)
            numbers[port] = len(tensors)
            tensors.append(Tensor(f"{layer.name}:{port[1]}", shape, dtype))
        return numbers[port]

    operators = []
    read = set(edges.values())
    for layer, name in zip(kept, names, strict=True):
        with naming(f"layer {quoted(layer.name)}"):
            sources = [edges.get((layer.number, port)) for port in layer.inputs]
            beside = [one for x in sources if x in stored for one in stored[x].beside]
            reads = tuple(LEFT_OUT if x is None else tensor(x, layer) for x in sources)
            reads = with_scales(reads, map(tensor, dict.fromkeys(beside)))
            used = [(layer.number, port) for port in layer.outputs if (layer.number, port) in read]
            writes = tuple(map(tensor, used))
            operators.append(_operator(layer, name, reads, writes, tensors, notes))
    results = [
        numbers[source]
        for layer in layers
        if layer.kind in RESULTS
        for source in [edges.get((layer.number, port)) for port in layer.inputs]
        if source in numbers and source[0] not in constants
    ]
    return ComputationGraph(
        operators=tuple(operators),
        tensors=tuple(tensors),
        parameters=frozenset(numbers[port] for port in numbers if port[0] in constants),
        results=tuple(dict.fromkeys(results)),
        dtype=main_dtype(operators, tensors),
        notes=tuple(notes.sentences()),
    )


def _operator(
    layer: Layer,
    name: str,
    reads: tuple[int, ...],
    writes: tuple[int, ...],
    tensors: list[Tensor],
    notes: Notes,
) -> Operator:
    inputs = [shape for shape, _ in layer.inputs.values()]
    weights = weight_shape(layer, inputs[1]) if len(inputs) > 1 else ()
    outputs = [tensors[number].shape for number in writes]
    shapes = [inputs[0], weights, *inputs[2:]] if len(inputs) > 1 else inputs
    try:
        set_to = attributes(layer, inputs, weights)
        count = operations(layer, shapes, outputs, set_to)
    except (IndexError, ValueError, ZeroDivisionError) as error:
        shown = ", ".join(str(list(shape)) for shape in inputs)
        raise InvalidInputError(
            f"expected shapes that {layer.kind} allows, found {shown or 'none'}."
        ) from error
    if count is None:
        notes.add(layer.kind, "of which only the bytes that they move are counted", layer.name)
    return Operator(name, op_type(layer), count or 0, reads, writes, set_to)


def _unique_names(layers: list[Layer]) -> list[str]:
    """Return the names in the file, with the layer's number where that is not enough."""
    often = Counter(layer.name for layer in layers)
    names: dict[str, None] = {}
    for layer in layers:
        name = layer.name if often[layer.name] == 1 else f"{layer.name}_{layer.number}"
        while name in names or (name != layer.name and name in often):
            name += "_"
        names[name] = None
    return list(names)


def _in_order(layers: list[Layer], edges: dict[Port, Port]) -> list[Layer]:
    """Return the layers in topological order."""
    position = {layer.number: at for at, layer in enumerate(layers)}
    pairs = [(position[tail[0]], position[head[0]]) for head, tail in edges.items()]
    names = tuple(f"{layer.name} ({layer.number})" for layer in layers)
    order = Dag.from_edges(len(layers), pairs, names).topological_order
    return [layers[at] for at in order.tolist()]


def _constants(ordered: list[Layer], edges: dict[Port, Port]) -> set[str]:
    """Return the layers whose outputs do not depend on the model's inputs."""
    found: set[str] = set()
    for layer in ordered:
        sources = [edges.get((layer.number, port)) for port in layer.inputs]
        is_derived = bool(sources) and all(x is not None and x[0] in found for x in sources)
        if layer.kind in (*CONSTANTS, *SHAPES) or (is_derived and layer.kind not in RESULTS):
            found.add(layer.number)
    return found


class _Stored(NamedTuple):
    """A quantised constant as it is stored: its elements, and factors and offsets beside them."""

    dtype: str
    beside: tuple[Port, ...] = ()


# After the conversion of quantised elements to numbers.
_SCALING = ("Multiply", "Subtract", "Add")
_REARRANGING = ("Convert", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def _stored(
    ordered: list[Layer], edges: dict[Port, Port], constants: set[str]
) -> dict[Port, _Stored]:
    """Return how constants are stored that begin with elements of 8 bits or fewer.

    They are converted to numbers, scaled and rearranged, by what runtimes do inside of the product
    that reads them.
    """
    found: dict[Port, _Stored] = {}
    kinds = {layer.number: layer.kind for layer in ordered}
    types = {(x.number, port): kind for x in ordered for port, (_, kind) in x.outputs.items()}
    for layer in ordered:
        sources = [edges.get((layer.number, port)) for port in layer.inputs]
        first = sources[0] if sources else None
        if layer.number not in constants or first is None or len(layer.outputs) != 1:
            continue
        (out,) = ((layer.number, port) for port in layer.outputs)
        if first in found and layer.kind in _REARRANGING:
            found[out] = found[first]
        elif first in found and layer.kind in _SCALING and len(sources) == 2 and sources[1]:
            other = sources[1]
            beside = found[other].beside if other in found else ()
            found[out] = _Stored(found[first].dtype, (*found[first].beside, other, *beside))
        elif layer.kind == "Convert" and kinds[first[0]] in CONSTANTS:
            is_quantised = ELEMENT_BITS[types[first]] <= QUANTISED_BITS and types[first] != "bool"
            if is_quantised:
                found[out] = _Stored(types[first])
    return found


def _needed(ordered: list[Layer], edges: dict[Port, Port]) -> set[str]:
    """Return the layers that some result depends on."""
    found = {layer.number for layer in ordered if layer.kind in RESULTS}
    if not found:
        raise InvalidInputError("there is no layer of type Result; expected a whole model.")
    for layer in reversed(ordered):
        if layer.number in found:
            for port in layer.inputs:
                source = edges.get((layer.number, port))
                if source is not None:
                    found.add(source[0])
    return found


# Real files have fewer than ten.
DEEPEST = 50

LARGEST_FILE = 2**28


def _parsed_xml(content: bytes) -> Element:
    """Return the root of an XML document.

    A document type could define entities, whose expansion may be of any size, or name other files;
    it is refused, as is deep nesting.
    """
    builder, depth = TreeBuilder(), 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InvalidInputError(f"elements are nested more than {DEEPEST} deep.")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise InvalidInputError("there is a document type; expected none in a model.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InvalidInputError(f"expected XML, found {error}.") from error
    return builder.close()


FORMAT = FileFormat("OpenVINO IR", (".xml",), load)
