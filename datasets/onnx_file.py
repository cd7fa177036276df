"""Computation graphs from ONNX files: shapes inferred, constants folded, operations counted."""

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx.shape_inference
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import GraphProto, ModelProto, NodeProto

from boundmark.datasets.arithmetic import main_dtype
from boundmark.datasets.file_format import NO_DIMS
from boundmark.datasets.onnx_attributes import canonical_attributes, signature
from boundmark.datasets.onnx_control_flow import bodies, body_flops, lift_weights, reads_of
from boundmark.datasets.onnx_custom import is_custom, with_assumed_shapes
from boundmark.datasets.onnx_dimensions import fix_dimensions
from boundmark.datasets.onnx_flops import flops, has_rule
from boundmark.datasets.onnx_functions import with_functions_inlined
from boundmark.datasets.onnx_notes import Notes
from boundmark.datasets.onnx_structure import (
    check_edges,
    find_constants,
    find_needed,
    find_producers,
    unique_names,
)
from boundmark.datasets.onnx_tensors import KnownTensors, known_tensors
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.operator import LEFT_OUT, Operator
from boundmark.problems.quoted import quoted
from boundmark.problems.source_file import naming, read_bytes
from boundmark.problems.tensor import Tensor

# Propagating the values of one twice as long takes a second for each operator that reads it.
LONGEST_VECTOR = 2**20


def load(path: str | Path, dims: Mapping[str, int] = NO_DIMS) -> ComputationGraph:
    """Read a model.

    Dimensions of graph inputs that the model leaves open have the sizes given, or else 1, of which
    the graph's notes tell; a dimension with a name has the same size wherever the name occurs.
    Functions defined in the model are inlined. Control flow is one operator, see
    `onnx_control_flow`; a custom operator costs the bytes that it moves, see `onnx_custom`.

    A node whose inputs are all constants is itself a constant, and so are the results of Shape and
    Size. Constants are no nodes of the graph but parameters of those that read them, and neither
    are nodes that no output of the graph depends on. Outputs that are neither read nor returned
    are left out. Weights in external files are not opened. Nodes without a name are called after
    type and position.

    The dtype is the one in which most of the arithmetic is done, judged by each node's first input.

    Raises
    ------
    InvalidInputError
        If the file is cut off or not ONNX, reads a tensor that nothing produces, has a cycle, or
        does not determine the shape of a tensor that matters.
    """
    path = Path(path)
    model, notes, assumed = inferred_model(path, dims)
    with naming(path):
        lift_weights(model.graph)
        return _graph(model.graph, _versions(model), assumed, notes)


def inferred_model(
    path: Path, dims: Mapping[str, int]
) -> tuple[ModelProto, tuple[str, ...], set[str]]:
    """Read a model as it is, with all functions inlined and all shapes that follow.

    Returns
    -------
    The model, without weights that are in other files; what was taken for granted, as sentences;
    and the names of tensors whose shapes were.

    Raises
    ------
    InvalidInputError
        If the file is cut off or not ONNX, or shapes do not fit together.
    """
    content = read_bytes(path)
    with naming(path):
        model = _parsed(content)
        notes = fix_dimensions(model.graph, dims)
        model = with_functions_inlined(model)
        model, assumed = with_assumed_shapes(_inferred(model), _versions(model), _inferred)
    return model, notes, assumed


def _versions(model: ModelProto) -> dict[str, int]:
    """Return the versions of the operator sets, by domain."""
    return {_domain(entry.domain): entry.version for entry in model.opset_import}


def _parsed(content: bytes) -> ModelProto:
    try:
        model = onnx.load_model_from_string(content)
    except DecodeError as error:
        raise InvalidInputError("expected a complete ONNX model; it cannot be parsed.") from error
    missing = "graph" if not model.HasField("graph") else "opset_import"
    if missing == "graph" or not model.opset_import:
        raise InvalidInputError(f"{missing} is missing; expected a complete ONNX model.")
    _check_texts(model)
    return model


def _check_texts(message: Message) -> None:
    """Raise `InvalidInputError` if a text of a message, or of one in it, is no text.

    The parser hands on what is not UTF-8 as bytes.
    """
    for kind, value in message.ListFields():
        values: Any = (value,) if isinstance(value, str | bytes | Message) else value
        if kind.type == FieldDescriptor.TYPE_MESSAGE:
            for part in values:
                _check_texts(part)
        elif kind.type == FieldDescriptor.TYPE_STRING:
            for text in values:
                if not isinstance(text, str):
                    raise InvalidInputError(
                        f"{kind.full_name} is {quoted(text)}; expected a text in UTF-8."
                    )


def _inferred(model: ModelProto) -> ModelProto:
    """Infer the shapes that follow from those of the inputs.

    Shapes that follow from values, such as those of a Reshape to a computed shape, are not inferred
    where a vector is longer than `LONGEST_VECTOR`: onnx would write down each of its elements.
    """
    plain = _with_shapes(model, data_prop=False)
    if _longest_vector(plain.graph) > LONGEST_VECTOR:
        return plain
    return _with_shapes(model, data_prop=True)


def _with_shapes(model: ModelProto, *, data_prop: bool) -> ModelProto:
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=data_prop)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"expected shapes that fit together, found {reason}.") from error


def _longest_vector(graph: GraphProto) -> int:
    """Return the length of the longest tensor of one dimension, also in bodies."""
    shapes = [shape for shape, _ in known_tensors(graph).types.values()]
    inside = [_longest_vector(body) for node in graph.node for body in bodies(node)]
    return max([*inside, *(shape[0] for shape in shapes if len(shape) == 1)], default=0)


class _Numbering:
    """Numbers tensors in the order in which they are asked for."""

    def __init__(self, known: KnownTensors) -> None:
        self.known = known
        self.numbers: dict[str, int] = {}
        self.tensors: list[Tensor] = []

    def __getitem__(self, name: str) -> int:
        if name not in self.numbers:
            self.tensors.append(self.known.describe(name))
            self.numbers[name] = len(self.numbers)
        return self.numbers[name]


def _graph(
    graph: GraphProto, versions: Mapping[str, int], assumed: Container[str], notes: tuple[str, ...]
) -> ComputationGraph:
    """Return the graph of operators.

    Parameters
    ----------
    versions
        Of the operator sets, by domain.
    assumed
        Names of the tensors whose shapes were taken for granted.
    notes
        What was taken for granted so far.
    """
    names = unique_names(graph)
    constants = find_constants(graph)
    producers = find_producers(graph, names)
    needed = find_needed(graph, producers, constants)
    check_edges(graph, names, constants, producers, needed)
    returned = [value.name for value in graph.output if value.name not in constants]
    used = set(returned).union(*(reads_of(graph.node[at]) for at in needed))
    numbering = _Numbering(known_tensors(graph))
    operators = []
    counted = Notes()
    for at in needed:
        with naming(f"node {names[at]!r}"):
            node = graph.node[at]
            operators.append(_operator(node, names[at], versions, used, numbering, counted))
            if any(tensor in assumed for tensor in node.output):
                counted.add(
                    node.op_type,
                    "sizes of whose outputs are unknown and taken to be those of the first input "
                    "(store their shapes in the model as value_info)",
                    names[at],
                )
    tensors, numbers = numbering.tensors, numbering.numbers
    return ComputationGraph(
        operators=tuple(operators),
        tensors=tuple(tensors),
        parameters=frozenset(number for name, number in numbers.items() if name in constants),
        results=tuple(numbers[name] for name in returned if name in numbers),
        dtype=main_dtype(operators, tensors),
        notes=(*notes, *counted.sentences()),
    )


def _operator(
    node: NodeProto,
    name: str,
    versions: Mapping[str, int],
    used: Container[str],
    numbering: _Numbering,
    notes: Notes,
) -> Operator:
    """Return a node as an operator.

    Parameters
    ----------
    versions
        Of the operator sets, by domain.
    used
        Names of the tensors that somebody reads or the model returns.
    notes
        Takes what was taken for granted.
    """
    reads = tuple(numbering[tensor] if tensor else LEFT_OUT for tensor in reads_of(node))
    writes = tuple(numbering[tensor] for tensor in node.output if tensor in used)
    tensors = numbering.tensors
    inputs = [None if number == LEFT_OUT else tensors[number].shape for number in reads]
    outputs = [tensors[number].shape for number in writes]
    domain = _domain(node.domain)
    attributes = canonical_attributes(
        node,
        signature(node.op_type, versions.get(domain, 0), domain),
        inputs,
        outputs,
        numbering.known.integers,
    )
    if bodies(node):
        count, how = body_flops(node, numbering.known, versions)
        notes.add(node.op_type, f"control flow as one operator, {how}", name)
    else:
        count = flops(node.op_type, inputs, outputs, attributes)
        if is_custom(node, versions) and not has_rule(node.op_type):
            # One operation per element takes less time than its bytes on any device.
            notes.add(
                f"{domain}.{node.op_type}".removeprefix("."),
                "which ONNX does not know, costed by the bytes that they read and write (define "
                "them as functions in the model to count their operations)",
                name,
            )
    return Operator(name, node.op_type, count, reads, writes, attributes)


def _domain(name: str) -> str:
    """Return the name of a domain; that of ONNX itself has two."""
    return "" if name == "ai.onnx" else name
