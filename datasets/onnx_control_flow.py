"""Control flow in ONNX graphs: an If, Loop or Scan is one operator, costed by its bodies.

An If computes what its dearer branch does, a Loop or Scan its body as often as the trip count says,
where that is a constant; otherwise once, and a note says so. All that bodies read from outside, and
their own weights, counts as read by the operator.
"""

from collections.abc import Iterator, Mapping

from onnx import AttributeProto, GraphProto, NodeProto

from boundmark.datasets.onnx_flops import flops
from boundmark.datasets.onnx_operators import (
    KnownTensors,
    canonical_attributes,
    domain_of,
    known_tensors,
    signature,
)

Versions = Mapping[str, int]


def bodies(node: NodeProto) -> list[GraphProto]:
    """Return the graphs that a node of control flow has as attributes."""
    found = []
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            found.append(attribute.g)
        elif attribute.type == AttributeProto.GRAPHS:
            found.extend(attribute.graphs)
    return found


def reads_of(node: NodeProto) -> list[str]:
    """Return the names of all tensors that a node reads, its inputs first, then its bodies'."""
    captured = dict.fromkeys(name for body in bodies(node) for name in _free_names(body))
    return [*node.input, *(name for name in captured if name not in node.input)]


def operations_inside(node: NodeProto) -> Iterator[NodeProto]:
    """Yield the nodes of a node's bodies, and of the bodies in these."""
    for body in bodies(node):
        for inner in body.node:
            yield inner
            yield from operations_inside(inner)


def lift_weights(graph: GraphProto) -> None:
    """Make the initializers of all bodies initializers of the graph itself, by unique names."""
    taken = {value.name for value in graph.input}
    taken.update(tensor.name for tensor in graph.initializer)
    taken.update(name for node in graph.node for name in node.output)
    for node in graph.node:
        for body in bodies(node):
            _lift(body, graph, taken)


def body_flops(node: NodeProto, known: KnownTensors, versions: Versions) -> tuple[int, str]:
    """Return the operations of a node of control flow, and the assumptions behind the number."""
    counts = [_graph_flops(body, known, versions) for body in bodies(node)]
    if node.op_type == "If":
        return max(counts), "costed by the dearer branch"
    trips = _trips(node, known)
    if trips is None:
        return sum(counts), "whose trip count is no constant, costed by one iteration"
    return trips * sum(counts), "costed by trip count"


def _free_names(graph: GraphProto) -> list[str]:
    """Return what a body reads from outside."""
    own = {value.name for value in graph.input}
    own.update(tensor.name for tensor in graph.initializer)
    own.update(tensor.values.name for tensor in graph.sparse_initializer)
    own.update(name for node in graph.node for name in node.output)
    read = [name for node in graph.node for name in reads_of(node)]
    read += [value.name for value in graph.output]
    return [name for name in dict.fromkeys(read) if name and name not in own]


def _lift(body: GraphProto, graph: GraphProto, taken: set[str]) -> None:
    renamed: dict[str, str] = {}
    for tensor in body.initializer:
        name = tensor.name
        while name in taken:
            name += "_"
        taken.add(name)
        if name != tensor.name:
            renamed[tensor.name] = name
        lifted = graph.initializer.add()
        lifted.CopyFrom(tensor)
        lifted.name = name
    del body.initializer[:]
    if renamed:
        _rename_reads(body, renamed)
    for node in body.node:
        for inner in bodies(node):
            _lift(inner, graph, taken)


def _rename_reads(body: GraphProto, renamed: Mapping[str, str]) -> None:
    for node in body.node:
        for at, name in enumerate(node.input):
            node.input[at] = renamed.get(name, name)
        for inner in bodies(node):
            own = {tensor.name for tensor in inner.initializer}
            _rename_reads(inner, {old: new for old, new in renamed.items() if old not in own})
    for value in body.output:
        value.name = renamed.get(value.name, value.name)


def _graph_flops(body: GraphProto, outer: KnownTensors, versions: Versions) -> int:
    inside = known_tensors(body)
    known = KnownTensors({**outer.types, **inside.types}, {**outer.constants, **inside.constants})
    return sum(_node_flops(node, known, versions) for node in body.node)


def _node_flops(node: NodeProto, known: KnownTensors, versions: Versions) -> int:
    """Return a node's operations; 0 where shapes are unknown, e.g. of what a loop gathers."""
    if bodies(node):
        return body_flops(node, known, versions)[0]
    inputs = [known.types[name][0] if name in known.types else None for name in node.input]
    outputs = [known.types[name][0] for name in node.output if name in known.types]
    if any(shape is None and name for shape, name in zip(inputs, node.input, strict=True)):
        return 0
    if len(outputs) < sum(map(bool, node.output)):
        return 0
    domain = domain_of(node.domain)
    attributes = canonical_attributes(
        node,
        signature(node.op_type, versions.get(domain, 0), domain),
        inputs,
        outputs,
        known.integers,
    )
    return flops(node.op_type, inputs, outputs, attributes)


def _trips(node: NodeProto, known: KnownTensors) -> int | None:
    """Return how often a Loop or Scan runs its body; None if that depends on the data."""
    if node.op_type == "Loop":
        values = known.integers(node.input[0]) if node.input and node.input[0] else None
        return max(0, values[0]) if values else None
    if node.op_type == "Scan":
        settings = {attribute.name: attribute for attribute in node.attribute}
        count = settings["num_scan_inputs"].i if "num_scan_inputs" in settings else 0
        axes = list(settings["scan_input_axes"].ints) if "scan_input_axes" in settings else []
        scanned = known.types.get(node.input[-count]) if 0 < count <= len(node.input) else None
        axis = axes[0] if axes else 0
        if scanned is not None and -len(scanned[0]) <= axis < len(scanned[0]):
            return scanned[0][axis]
    return None
