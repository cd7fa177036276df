"""Layers, ports and edges of an IR, as they are written."""

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.quoted import quoted
from boundmark.problems.source_file import naming

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
