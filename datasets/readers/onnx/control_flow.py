"""Control flow in ONNX graphs: an If, Loop or Scan is one operator, costed by its bodies.

An If computes what its dearer branch does, a Loop or Scan its body as often as the trip count says,
where that is a constant; otherwise once, and a note says so. All that bodies read from outside, and
their own weights, counts as read by the operator, once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from onnx import AttributeProto, GraphProto, NodeProto

from boundmark.datasets.readers.onnx.contrib import flops, typed_by
from boundmark.datasets.readers.onnx.operators import (
    KnownTensors,
    KnownType,
    canonical_attributes,
    domain_of,
    is_dequantisation,
    known_tensors,
    set_type,
    signature,
)
from boundmark.problems.computation_graph import arithmetic_dtype
from boundmark.problems.operator_types import FREE_OP_TYPES

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


# No types are known of tensors outside a model.
NO_TYPES: Mapping[str, KnownType] = MappingProxyType({})

# From here on, a trip count says that only the condition ends the loop: exporters write the largest
# integer.
NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class BodyCost:
    """The arithmetic of a node of control flow, or of one of its bodies.

    Attributes
    ----------
    arithmetic
        Its operations, by the type in which a device does them.
    assumptions
        Behind the numbers, as clauses; empty if there are none.
    """

    arithmetic: Counter[str]
    assumptions: str


def has_open_trips(graph: GraphProto) -> bool:
    """Whether a Loop's trip count is not among the constants, though it may follow from some."""
    known = known_tensors(graph)
    nodes = (one for node in graph.node for one in (node, *operations_inside(node)))
    loops = (node for node in nodes if node.op_type == "Loop" and any(node.input[:1]))
    return any(known.integers(node.input[0]) is None for node in loops)


def body_cost(node: NodeProto, known: KnownTensors, versions: Versions) -> BodyCost:
    """Return the operations of a node of control flow."""
    found = [_graph_cost(body, known, versions) for body in bodies(node)]
    # Assumptions of all branches count, since which one is dearer depends on them.
    inside = dict.fromkeys(one.assumptions for one in found if one.assumptions)
    arithmetic: Counter[str] = Counter()
    if node.op_type == "If":
        found = [found[_dearest(found)]]
        how, trips = "costed by the dearer branch", 1
    elif (count := _trips(node, known)) is None:
        how, trips = "whose trip count is no constant, costed by one iteration", 1
    else:
        how, trips = "costed by trip count, with the bytes of one iteration", count
    for body in found:
        for dtype, operations in body.arithmetic.items():
            arithmetic[dtype] += trips * operations
    return BodyCost(arithmetic, "; ".join([how, *inside]))


def seed_loops(graph: GraphProto, outer: Mapping[str, KnownType] = NO_TYPES) -> bool:
    """Give what loops carry the shape that it begins with, where bodies do not state it."""
    types = {**outer, **known_tensors(graph).types}
    is_changed = False
    for node in graph.node:
        for body in bodies(node):
            stated = known_tensors(body).types
            carried = zip(body.input[2:], node.input[2:], strict=False)
            for value, begin in carried if node.op_type == "Loop" else ():
                if value.name not in stated and begin in types:
                    set_type(value, types[begin])
                    is_changed = True
            is_changed |= seed_loops(body, types)
    return is_changed


def body_types(node: NodeProto, known: KnownTensors, versions: Versions) -> list[KnownType | None]:
    """Return shapes and types of an If's or Loop's outputs as it is costed; None of unknown ones.

    They are those of the dearer branch; what a loop gathers is as long as the trip count.
    """
    inside = bodies(node)
    if node.op_type not in ("If", "Loop") or not inside:
        return []
    dearest = _dearest([_graph_cost(body, known, versions) for body in inside])
    types = _seen_from(inside[dearest], known).types
    found = [types.get(value.name) for value in inside[dearest].output]
    if node.op_type == "If":
        return found
    trips = _trips(node, known)
    # A body's first output says whether to go on.
    carried = len(node.input) - 1
    gathered = (
        None if kind is None else ((1 if trips is None else trips, *kind[0]), kind[1])
        for kind in found[carried:]
    )
    return [*found[1:carried], *gathered]


def _free_names(graph: GraphProto) -> list[str]:
    """Return what a body reads from outside."""
    own = {value.name for value in graph.input}
    own.update(tensor.name for tensor in graph.initializer)
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


def _dearest(found: Sequence[BodyCost]) -> int:
    return max(range(len(found)), key=lambda at: found[at].arithmetic.total())


def _seen_from(body: GraphProto, outer: KnownTensors) -> KnownTensors:
    """Return what is known of the tensors that the nodes of a body can read."""
    inside = known_tensors(body)
    return KnownTensors(
        {**outer.types, **inside.types},
        {**outer.constants, **inside.constants},
        {**outer.unsupported, **inside.unsupported},
    )


def _graph_cost(body: GraphProto, outer: KnownTensors, versions: Versions) -> BodyCost:
    """Return what a body computes, without nodes of unknown shapes, e.g. of what a loop gathers."""
    known = _seen_from(body, outer)
    arithmetic: Counter[str] = Counter()
    inside: dict[str, None] = {}
    unknown = 0
    for node in body.node:
        if bodies(node):
            cost = body_cost(node, known, versions)
            arithmetic.update(cost.arithmetic)
            inside[f"inside, {node.op_type} {cost.assumptions}"] = None
            continue
        if is_dequantisation(node) and known.constants.keys() >= set(filter(None, node.input)):
            # Weights are dequantised by whoever reads them.
            continue
        count = _node_flops(node, known, versions)
        if count is None:
            unknown += node.op_type not in FREE_OP_TYPES
        elif count:
            arithmetic[arithmetic_dtype(known.describe(typed_by(node)).dtype)] += count
    if unknown:
        inside[f"inside, {unknown} of unknown shapes cost nothing"] = None
    return BodyCost(arithmetic, "; ".join(inside))


def _node_flops(node: NodeProto, known: KnownTensors, versions: Versions) -> int | None:
    """Return the operations of a node without bodies; None if shapes are unknown."""
    named = [name for name in (*node.input, *node.output) if name]
    if any(name not in known.types for name in named):
        return None
    inputs = [known.types[name][0] if name else None for name in node.input]
    outputs = [known.types[name][0] for name in node.output if name]
    domain = domain_of(node.domain)
    attributes = canonical_attributes(
        node,
        signature(node.op_type, versions.get(domain, 0), domain),
        inputs,
        outputs,
        known.integers,
    )
    return flops(domain, node.op_type, inputs, outputs, attributes)


def _trips(node: NodeProto, known: KnownTensors) -> int | None:
    """Return how often a Loop or Scan runs its body; None if that depends on the data."""
    if node.op_type == "Loop":
        values = known.integers(node.input[0]) if node.input and node.input[0] else None
        return max(0, values[0]) if values and values[0] < NO_LIMIT else None
    if node.op_type == "Scan":
        settings = {attribute.name: attribute for attribute in node.attribute}
        count = settings["num_scan_inputs"].i if "num_scan_inputs" in settings else 0
        axes = list(settings["scan_input_axes"].ints) if "scan_input_axes" in settings else []
        scanned = known.types.get(node.input[-count]) if 0 < count <= len(node.input) else None
        axis = axes[0] if axes else 0
        if scanned is not None and -len(scanned[0]) <= axis < len(scanned[0]):
            return scanned[0][axis]
    return None
