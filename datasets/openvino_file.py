"""Computation graphs from OpenVINO IR: shapes are in the file, operations are counted."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from boundmark.datasets.file_format import Notes, main_dtype, with_scales
from boundmark.datasets.openvino_operators import (
    Layer,
    Port,
    attributes,
    op_type,
    operations,
    read_edges,
    read_layers,
    weight_shape,
)
from boundmark.problems.computation_graph import (
    ELEMENT_BITS,
    LEFT_OUT,
    ComputationGraph,
    Operator,
    Tensor,
)
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes

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
    root = read_tree(path)
    with naming(path):
        layers = read_layers(root)
        return _graph(layers, read_edges(root, layers))


def _graph(layers: list[Layer], edges: dict[Port, Port]) -> ComputationGraph:
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
    """How a constant is stored that is quantised: its elements, and what is multiplied or added."""

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


def read_tree(path: Path) -> Element:
    """Return the root of an XML file.

    A document type could define entities, whose expansion may be of any size, or name other files;
    it is refused, as is deep nesting.

    Raises
    ------
    InvalidInputError
        If the file is no XML, or has one of these.
    """
    content = read_bytes(path, "a model")
    with naming(path):
        if len(content) > LARGEST_FILE:
            raise InvalidInputError(f"the file has more than {LARGEST_FILE >> 20} MiB.")
        return _parsed_xml(content)


def _parsed_xml(content: bytes) -> Element:
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
