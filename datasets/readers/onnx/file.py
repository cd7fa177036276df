"""Computation graphs from ONNX files: shapes inferred, constants folded, operations counted."""

from collections.abc import Container, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onnx import GraphProto, ModelProto, NodeProto

from boundmark.datasets.file_format import NO_DIMS, Notes, main_dtype
from boundmark.datasets.readers.kernel_recognition import with_kernels
from boundmark.datasets.readers.onnx.contrib import flops, has_rule, typed_by
from boundmark.datasets.readers.onnx.control_flow import (
    bodies,
    body_cost,
    lift_weights,
    operations_inside,
    reads_of,
)
from boundmark.datasets.readers.onnx.model import (
    inferred_model,
    is_custom,
    unique_names,
    versions_of,
)
from boundmark.datasets.readers.onnx.operators import (
    KnownTensors,
    canonical_attributes,
    domain_of,
    is_dequantisation,
    known_tensors,
    signature,
)
from boundmark.problems.computation_graph import (
    LEFT_OUT,
    ComputationGraph,
    Operator,
    Tensor,
    arithmetic_dtype,
)
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.files import naming


def load(path: str | Path, dims: Mapping[str, int] = NO_DIMS) -> ComputationGraph:
    """Read a model.

    Dimensions of graph inputs that the model leaves open have the sizes given, or else 1, of which
    the graph's notes tell; a dimension with a name has the same size wherever the name occurs.
    Functions defined in the model are inlined. Control flow is one operator, see
    `control_flow`; a custom operator costs the bytes that it moves.

    A node whose inputs are all constants is itself a constant, and so are the results of Shape and
    Size. Constants are no nodes of the graph but parameters of those that read them, and neither
    are nodes that no output of the graph depends on. Constants that are dequantised are parameters
    as they are stored: elements of their few bits, and behind all inputs, scales and zero points.
    Outputs that are neither read nor returned are left out. Weights in external files are not
    opened. Nodes without a name are called after type and position.

    The dtype is the one in which most of the arithmetic is done, judged by each node's first input,
    dequantised; that of control flow, by the nodes of its bodies.

    Raises
    ------
    InvalidInputError
        If the file is cut off or not ONNX, reads a tensor that nothing produces, has a cycle, or
        does not determine the shape of a tensor that matters.
    """
    path = Path(path)
    inferred = inferred_model(path, dims)
    with naming(path):
        return _of_inferred(*inferred)


def load_with_kernels(path: str | Path, dims: Mapping[str, int] = NO_DIMS) -> ComputationGraph:
    """Read a model as `load` does, and recognise its kernels."""
    return with_kernels(load(path, dims))


def of_model(model: ModelProto, dims: Mapping[str, int] = NO_DIMS) -> ComputationGraph:
    """Return the graph of a model in memory, which is not changed; see `load`."""
    return _of_inferred(*inferred_model(model, dims))


def _of_inferred(
    model: ModelProto, notes: tuple[str, ...], assumed: Mapping[str, str]
) -> ComputationGraph:
    lift_weights(model.graph)
    return _graph(model.graph, versions_of(model), assumed, notes)


@dataclass(frozen=True)
class _StoredConstant:
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


def _stored_constants(graph: GraphProto, constants: Container[str]) -> dict[str, _StoredConstant]:
    """Return where dequantised constants are stored, by name, also if they are rearranged then.

    Runtimes make numbers of them inside of the product that reads them, or compute with integers,
    and never write the numbers.
    """
    stored: dict[str, _StoredConstant] = {}
    for node in graph.node:
        if not node.input or not node.output or node.output[0] not in constants:
            continue
        if is_dequantisation(node):
            stored[node.output[0]] = _StoredConstant(
                node.input[0], tuple(filter(None, node.input[1:]))
            )
        elif node.op_type in _REARRANGING and node.input[0] in stored:
            stored[node.output[0]] = stored[node.input[0]]
    return stored


class _Numbering:
    """Numbers tensors in the order in which they are asked for; those dequantised, as stored."""

    def __init__(self, known: KnownTensors, stored: Mapping[str, _StoredConstant]) -> None:
        self.known = known
        self.stored = stored
        self.numbers: dict[str, int] = {}
        self.tensors: list[Tensor] = []

    def __getitem__(self, name: str) -> int:
        tensor = self.known.describe(name)
        if name in self.stored:
            elements = self.known.describe(self.stored[name].elements)
            is_same = elements.shape == tensor.shape
            tensor = elements if is_same else replace(tensor, dtype=elements.dtype)
        if tensor.name not in self.numbers:
            self.tensors.append(tensor)
            self.numbers[tensor.name] = len(self.numbers)
        return self.numbers[tensor.name]

    def beside(self, name: str) -> tuple[str, ...]:
        """Return what whoever reads a tensor has to read with it: scales and zero points."""
        return self.stored[name].beside if name in self.stored else ()


def _graph(
    graph: GraphProto,
    versions: Mapping[str, int],
    assumed: Mapping[str, str],
    notes: tuple[str, ...],
) -> ComputationGraph:
    """Return the graph of operators."""
    names = unique_names(graph)
    constants = find_constants(graph)
    producers = find_producers(graph, names)
    needed = find_needed(graph, producers, constants)
    check_edges(graph, names, constants, producers, needed)
    returned = [value.name for value in graph.output if value.name not in constants]
    used = set(returned).union(*(reads_of(graph.node[at]) for at in needed)) - {""}
    numbering = _Numbering(known_tensors(graph), _stored_constants(graph, constants))
    operators = []
    counted = Notes()
    arithmetic: dict[str, Mapping[str, int]] = {}
    for at in needed:
        with naming(f"node {names[at]!r}"):
            node = graph.node[at]
            operators.append(
                _operator(node, names[at], versions, used, numbering, counted, arithmetic)
            )
            for reason in {assumed.get(tensor): None for tensor in node.output}:
                if reason:
                    counted.add(node.op_type, reason, names[at])
    tensors, numbers = numbering.tensors, numbering.numbers
    return ComputationGraph(
        operators=tuple(operators),
        tensors=tuple(tensors),
        parameters=frozenset(number for name, number in numbers.items() if name in constants),
        results=tuple(numbers[name] for name in returned if name in numbers),
        dtype=main_dtype(operators, tensors, arithmetic),
        notes=(*notes, *counted.sentences()),
    )


def _operator(
    node: NodeProto,
    name: str,
    versions: Mapping[str, int],
    used: Container[str],
    numbering: _Numbering,
    notes: Notes,
    arithmetic: MutableMapping[str, Mapping[str, int]],
) -> Operator:
    """Return a node as an operator."""
    known, read = numbering.known, reads_of(node)
    domain = domain_of(node.domain)
    formal = signature(node.op_type, versions.get(domain, 0), domain)
    reads = [numbering[tensor] if tensor else LEFT_OUT for tensor in read]
    beside = [scale for tensor in read for scale in numbering.beside(tensor)]
    if beside:
        # Behind the inputs that are left out at the end, so that these are not taken for them.
        reads += [LEFT_OUT] * (len(formal.inputs) - len(reads))
        reads += (numbering[scale] for scale in dict.fromkeys(beside))
    writes = tuple(numbering[tensor] for tensor in node.output if tensor in used)
    inputs = [known.describe(tensor).shape if tensor else None for tensor in read]
    outputs = [numbering.tensors[number].shape for number in writes]
    attributes = canonical_attributes(node, formal, inputs, outputs, known.integers)
    if bodies(node):
        cost = body_cost(node, known, versions)
        count = cost.arithmetic.total()
        arithmetic[name] = cost.arithmetic
        notes.add(node.op_type, f"control flow as one operator, {cost.assumptions}", name)
    else:
        count = flops(domain, node.op_type, inputs, outputs, attributes)
        arithmetic[name] = {arithmetic_dtype(known.describe(typed_by(node)).dtype): count}
        if is_custom(node, versions) and not has_rule(domain, node.op_type):
            # One operation per element takes less time than its bytes on any device.
            notes.add(
                f"{domain}.{node.op_type}".removeprefix("."),
                "which ONNX does not know, costed by the bytes that they read and write (define "
                "them as functions in the model to count their operations)",
                name,
            )
    return Operator(name, node.op_type, count, tuple(reads), writes, attributes)


# Their outputs follow from shapes alone, and all shapes are fixed.
SHAPE_OPS = frozenset({"Shape", "Size"})

# Their outputs are not constants, whatever their inputs are.
RANDOM_OPS = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"}
    | {"RandomUniform", "RandomUniformLike"}
)


def find_constants(graph: GraphProto) -> set[str]:
    """Return the tensors that do not depend on the values of the graph's inputs."""
    constants = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        types = {node.op_type, *(inner.op_type for inner in operations_inside(node))}
        fixed = not types & RANDOM_OPS and constants.issuperset(filter(None, reads_of(node)))
        if fixed or node.op_type in SHAPE_OPS:
            constants.update(filter(None, node.output))
    return constants


def find_producers(graph: GraphProto, names: Sequence[str]) -> dict[str, int]:
    """Return the position of the node that produces each tensor."""
    producers: dict[str, int] = {}
    for at, node in enumerate(graph.node):
        for tensor in filter(None, node.output):
            if tensor in producers:
                raise InvalidInputError(
                    f"tensor {tensor!r} is produced by nodes {names[producers[tensor]]!r} and "
                    f"{names[at]!r}; expected one producer."
                )
            producers[tensor] = at
    return producers


def find_needed(graph: GraphProto, producers: Mapping[str, int], constants: set[str]) -> list[int]:
    """Return the positions of the nodes that the graph's outputs depend on, constants apart."""
    needed: set[int] = set()
    pending = [value.name for value in graph.output]
    while pending:
        tensor = pending.pop()
        at = producers.get(tensor)
        if at is not None and at not in needed and tensor not in constants:
            needed.add(at)
            pending.extend(reads_of(graph.node[at]))
    return sorted(needed)


def check_edges(
    graph: GraphProto,
    names: Sequence[str],
    constants: set[str],
    producers: Mapping[str, int],
    needed: Sequence[int],
) -> None:
    """Refuse cycles, and nodes that read a tensor that no node produces."""
    number = {at: v for v, at in enumerate(needed)}
    inputs = {value.name for value in graph.input}
    edges = []
    for at in needed:
        for tensor in reads_of(graph.node[at]):
            if not tensor or tensor in constants or tensor in inputs:
                continue
            if tensor not in producers:
                raise InvalidInputError(
                    f"node {names[at]!r} reads tensor {tensor!r}, which nothing produces; "
                    "expected an input, an initializer or a node's output."
                )
            edges.append((number[producers[tensor]], number[at]))
    Dag.from_edges(len(needed), edges, tuple(names[at] for at in needed))
