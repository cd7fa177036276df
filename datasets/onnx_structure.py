"""Finding the operations of an ONNX graph: constants are folded, and unused nodes left out."""

from collections import Counter
from collections.abc import Mapping, Sequence

from onnx import GraphProto

from boundmark.datasets.onnx_control_flow import operations_inside, reads_of
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError

# Their outputs follow from shapes alone, and all shapes are fixed.
SHAPE_OPS = frozenset({"Shape", "Size"})

# Their outputs are not constants, whatever their inputs are.
RANDOM_OPS = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"}
    | {"RandomUniform", "RandomUniformLike"}
)


def unique_names(graph: GraphProto) -> list[str]:
    """Return unique names: those in the file, with type and position where that is not enough."""
    often = Counter(node.name for node in graph.node)
    names: dict[str, None] = {}
    for at, node in enumerate(graph.node):
        name = node.name
        if not name or often[name] > 1:
            name = f"{node.name or node.op_type}_{at}"
        while name in names or (name != node.name and name in often):
            name += "_"
        names[name] = None
    return list(names)


def find_constants(graph: GraphProto) -> set[str]:
    """Return the tensors that do not depend on the values of the graph's inputs."""
    constants = {tensor.name for tensor in graph.initializer}
    constants.update(tensor.values.name for tensor in graph.sparse_initializer)
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
    """Refuse nodes that read what nothing produces, and cycles, in which no shape is known."""
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
