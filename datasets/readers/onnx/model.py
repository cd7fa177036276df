"""Read ONNX models: parsed, open dimensions fixed, functions inlined, shapes inferred.

Outputs of custom operators, which neither ONNX nor onnxruntime defines, are taken to have the shape
of the first input where the model does not state theirs; those of control flow, that of the bodies'
outputs; those whose sizes depend on data, such as how many objects are found, the largest possible.
"""

import bisect
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx.checker
import onnx.defs
import onnx.helper
import onnx.inliner
import onnx.shape_inference
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TensorShapeProto,
)

from boundmark.datasets.file_format import UnknownDimensionError
from boundmark.datasets.readers.onnx.contrib import definition, output_types
from boundmark.datasets.readers.onnx.control_flow import (
    bodies,
    body_types,
    has_open_trips,
    seed_loops,
)
from boundmark.datasets.readers.onnx.open_sizes import (
    AS_LARGE,
    computed_size,
    fold_constants,
    former_types,
    largest_types,
)
from boundmark.datasets.readers.onnx.operators import (
    MOST_VALUES,
    ONNX_ERRORS,
    KnownType,
    domain_of,
    known_tensors,
    set_type,
    signature,
    typed,
)
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes

# Propagating the values of one twice as long takes a second for each operator that reads it.
LONGEST_VECTOR = 2**20


def inferred_model(
    source: Path | ModelProto, dims: Mapping[str, int]
) -> tuple[ModelProto, tuple[str, ...], Mapping[str, str]]:
    """Read a model, inline its functions and infer the shapes of its tensors."""
    if isinstance(source, ModelProto):
        model = ModelProto()
        model.CopyFrom(source)
        return _inferred_model(model, dims)
    content = read_bytes(source)
    with naming(source):
        return _inferred_model(_parsed(content), dims)


def _inferred_model(
    model: ModelProto, dims: Mapping[str, int]
) -> tuple[ModelProto, tuple[str, ...], Mapping[str, str]]:
    _check_parts(model)
    _check_dense(model.graph)
    notes = fix_dimensions(model.graph, dims)
    inferred = _with_folded_constants(_inferred(with_functions_inlined(model)))
    completed, assumed = _with_completed_shapes(inferred)
    return completed, notes, assumed


def _with_folded_constants(model: ModelProto) -> ModelProto:
    """Compute what shapes and trip counts follow from, as long as some are unknown and it helps."""
    while _is_open(model.graph) and fold_constants(model.graph):
        model = _inferred(model)
    return model


def _is_open(graph: GraphProto) -> bool:
    types = known_tensors(graph).types
    written = (name for node in graph.node for name in node.output)
    return any(name and name not in types for name in written) or has_open_trips(graph)


def versions_of(model: ModelProto) -> dict[str, int]:
    """Return the versions of the operator sets, by domain."""
    return {domain_of(entry.domain): entry.version for entry in model.opset_import}


def _parsed(content: bytes) -> ModelProto:
    try:
        return onnx.load_model_from_string(content)
    except DecodeError as error:
        raise InvalidInputError("expected a complete ONNX model; it cannot be parsed.") from error


def _check_parts(model: ModelProto) -> None:
    missing = "graph" if not model.HasField("graph") else "opset_import"
    if missing == "graph" or not model.opset_import:
        raise InvalidInputError(f"{missing} is missing; expected a complete ONNX model.")
    _check_texts(model)


def _check_dense(graph: GraphProto) -> None:
    for sparse in graph.sparse_initializer:
        raise InvalidInputError(
            f"sparse initializer {quoted(sparse.values.name)} is not supported; store it dense."
        )
    for node in graph.node:
        for body in bodies(node):
            _check_dense(body)


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
        reason = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(
            f"{_refused_node(model, data_prop)}: expected shapes that fit together, found {reason}."
        ) from error


def _refused_node(model: ModelProto, data_prop: bool) -> str:
    """Return what to call the first node whose shapes onnx refuses, which its errors may not say.

    Found by halving: without the nodes behind some node, its outputs have no shape that is refused.
    """
    names = unique_names(model.graph)

    part = ModelProto()
    part.CopyFrom(model)

    def is_refused(count: int) -> bool:
        del part.graph.node[:]
        part.graph.node.extend(model.graph.node[:count])
        try:
            onnx.shape_inference.infer_shapes(part, data_prop=data_prop)
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            return True
        return False

    at = bisect.bisect_left(range(1, len(names)), True, key=is_refused)
    return f"node {names[at]!r} ({model.graph.node[at].op_type})" if names else "the model"


def unique_names(graph: GraphProto) -> list[str]:
    """Return unique names of nodes: from the file, with type and position where they repeat."""
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


def _longest_vector(graph: GraphProto) -> int:
    """Return the length of the longest tensor of one dimension, also in bodies."""
    shapes = [shape for shape, _ in known_tensors(graph).types.values()]
    inside = [_longest_vector(body) for node in graph.node for body in bodies(node)]
    return max([*inside, *(shape[0] for shape in shapes if len(shape) == 1)], default=0)


# More elements than fit into any memory; products of a few of them fit into 64 bits.
LARGEST_SIZE = 2**31 - 1

# Names in a warning.
MOST_NAMED = 8


def fix_dimensions(graph: GraphProto, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Give every open dimension of a graph's inputs a size, and note the assumed ones.

    Dimensions without a name are called after the input and their position, e.g. ``input_ids.0``.
    One that is a sum or product of others, such as ``past + sequence``, follows from these.
    """
    for name, size in dims.items():
        if type(size) is not int or not 1 <= size <= LARGEST_SIZE:
            raise InvalidInputError(
                f"dimension {quoted(name)} is {quoted(size)}; expected 1 to {LARGEST_SIZE}."
            )
    initial = {tensor.name for tensor in graph.initializer}
    open_dims: dict[str, list[TensorShapeProto.Dimension]] = {}
    for value in graph.input:
        if value.name in initial:
            continue
        for at, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.HasField("dim_param") or dim.dim_value < 1:
                open_dims.setdefault(dim.dim_param or f"{value.name}.{at}", []).append(dim)
    sizes = {name: dims.get(name, 1) for name in open_dims}
    others = {name: size for name, size in sizes.items() if name.isidentifier()}
    computed = {}
    for name in open_dims:
        follows = None if name in dims or name in others else computed_size(name, others)
        if follows is not None:
            if not 1 <= follows <= LARGEST_SIZE:
                raise InvalidInputError(
                    f"dimension {quoted(name)} is {follows}; expected 1 to {LARGEST_SIZE}."
                )
            computed[name] = sizes[name] = follows
    open_names = [name for name in open_dims if name not in computed]
    unknown = [name for name in dims if name not in open_dims]
    if unknown:
        known = ", ".join(open_names) or "none: the sizes of all inputs are fixed"
        raise UnknownDimensionError(
            f"there is no open dimension {quoted(unknown[0])}; the model has {known}.",
            (*open_names,),
        )
    for name, found in open_dims.items():
        for dim in found:
            dim.dim_value = sizes[name]
    for value in (*graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            named = sizes.get(dim.dim_param) if dim.dim_param else None
            if dim.dim_param and named is None:
                named = computed_size(dim.dim_param, others)
            if named is not None and 0 <= named <= LARGEST_SIZE:
                dim.dim_value = named
            elif dim.HasField("dim_value") and dim.dim_value < 0:
                # Some exporters mark what is open so.
                dim.ClearField("dim_value")
    assumed = [name for name in open_names if name not in dims]
    if not assumed:
        return ()
    shown = ", ".join(assumed[:MOST_NAMED]) + (", ..." if len(assumed) > MOST_NAMED else "")
    plural = "dimensions are" if len(assumed) > 1 else "dimension is"
    return (
        f"{len(assumed)} open {plural} taken to be 1: {shown}; "
        f"give sizes with --dim {assumed[0]}=SIZE",
    )


def is_custom(node: NodeProto, versions: Mapping[str, int]) -> bool:
    """Whether ONNX has no definition of a node's type in the version that the model imports."""
    domain = domain_of(node.domain)
    return not signature(node.op_type, versions.get(domain, 0), domain).version


def _with_completed_shapes(model: ModelProto) -> tuple[ModelProto, Mapping[str, str]]:
    """Give outputs shapes that ONNX does not infer: of onnxruntime's operators, and assumed ones.

    Outputs of custom operators and of control flow have assumed ones, if these are unknown. Shapes
    are inferred again after each round, because others follow, and nothing is assumed as long as
    any does.
    """
    versions = versions_of(model)
    assumed: dict[str, str] = {}
    while True:
        if not seed_loops(model.graph) and not _derive(model.graph, model.opset_import, {}):
            found = _assume(model.graph, versions)
            if not found:
                return model, assumed
            assumed |= found
        model = _with_folded_constants(_inferred(model))


def _derive(
    graph: GraphProto, imports: Sequence[OperatorSetIdProto], outer: Mapping[str, KnownType]
) -> bool:
    """State the types that follow for onnxruntime's operators, also in bodies.

    Types behind these operators are inferred on the way, node by node, since a model of many layers
    would otherwise be inferred as often as it has layers.
    """
    known = known_tensors(graph)
    types = {**outer, **known.types}
    seen = replace(known, types=types)
    version = next((one.version for one in imports if not domain_of(one.domain)), 0)
    found: dict[str, KnownType] = {}
    is_changed = False
    for node in graph.node:
        for body in bodies(node):
            is_changed |= _derive(body, imports, types)
        unknown = [name for name in node.output if name and name not in types]
        if not unknown:
            continue
        exact = output_types(node, types, known.integers) or former_types(node, seen, version)
        derived = dict(zip(node.output, exact, strict=False)) or _inferred_types(
            node, imports, types, known.constants, found
        )
        for name in unknown:
            if (kind := derived.get(name)) is not None:
                found[name] = types[name] = kind
    _state(graph, found)
    return is_changed or bool(found)


def _inferred_types(
    node: NodeProto,
    imports: Sequence[OperatorSetIdProto],
    types: Mapping[str, KnownType],
    constants: Mapping[str, TensorProto],
    found: Container[str],
) -> dict[str, KnownType]:
    """Return types that ONNX infers for a node's outputs; none unless an input was just found."""
    read = [name for name in node.input if name]
    domain = domain_of(node.domain)
    version = next((one.version for one in imports if domain_of(one.domain) == domain), 0)
    is_plain = not bodies(node) and signature(node.op_type, version, domain).version
    if not is_plain or not any(name in found for name in read) or not types.keys() >= set(read):
        return {}
    given = {
        name: onnx.helper.make_tensor_type_proto(types[name][1], types[name][0]) for name in read
    }
    small = {
        name: constants[name]
        for name in read
        if name in constants and prod(constants[name].dims) <= MOST_VALUES
    }
    schema = onnx.defs.get_schema(node.op_type, version, domain)
    try:
        inferred = onnx.shape_inference.infer_node_outputs(
            schema, node, given, small, opset_imports=list(imports)
        )
    except (RuntimeError, ValueError, *ONNX_ERRORS):
        # Which is said where the whole model is inferred.
        return {}
    values = (onnx.ValueInfoProto(name=name, type=kind) for name, kind in inferred.items())
    return dict(typed(values))


# The assumption about custom operators.
_AS_FIRST = (
    "sizes of whose outputs are unknown and taken to be those of the first input (store their "
    "shapes in the model as value_info)"
)


def _assume(graph: GraphProto, versions: Mapping[str, int]) -> dict[str, str]:
    """Give outputs of unknown shape the likeliest type; return for each what was taken for granted.

    They are those of custom operators, of control flow, and of operators whose results depend on
    data. An operator of onnxruntime waits for its first input to be known.
    """
    known = known_tensors(graph)
    types = dict(known.types)
    seen = replace(known, types=types)
    weights = {tensor.name for tensor in graph.initializer}
    found: dict[str, KnownType] = {}
    reasons: dict[str, str] = {}
    for node in graph.node:
        unknown = [name for name in node.output if name and name not in types]
        unknown = [name for name in unknown if name not in known.unsupported]
        if not unknown:
            continue
        likely: Iterable[KnownType | None] = ()
        reason = ""
        if bodies(node):
            likely = body_types(node, seen, versions)
            whose = "the dearer branch" if node.op_type == "If" else "the first iteration"
            reason = f"sizes of whose outputs are unknown and taken to be those of {whose}"
        elif is_custom(node, versions):
            data = [name for name in node.input if name in types and name not in weights]
            if definition(node.domain, node.op_type) is not None:
                data = [name for name in node.input[:1] if name in types]
            likely = [types[data[0]]] * len(node.output) if data else ()
            reason = _AS_FIRST
        else:
            likely, reason = largest_types(node, seen), AS_LARGE
        for name, kind in zip(node.output, likely, strict=False):
            if name in unknown and kind is not None:
                found[name] = types[name] = kind
                reasons[name] = reason
    _state(graph, found)
    return reasons


def _state(graph: GraphProto, types: Mapping[str, KnownType]) -> None:
    """State types of tensors in a graph, in place of what it says of them."""
    if not types:
        return
    kept = [value for value in graph.value_info if value.name not in types]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    stated = {value.name: value for value in graph.output}
    for name, kind in types.items():
        value = stated[name] if name in stated else graph.value_info.add()
        value.name = name
        set_type(value, kind)


# Domain, name and overload.
_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class InliningLimits:
    """Largest size of a model with inlined functions; the largest real models are a tenth of that.

    Attributes
    ----------
    nodes
        Nodes of the whole model, and of any one function.
    mebibytes
        Size of these.
    depth
        Largest depth of functions that call one another.
    """

    nodes: int = 2**20
    mebibytes: int = 1024
    depth: int = 100


@dataclass(frozen=True)
class _Size:
    nodes: int = 0
    bytes: int = 0

    def __add__(self, other: "_Size") -> "_Size":
        return _Size(self.nodes + other.nodes, self.bytes + other.bytes)


def with_functions_inlined(
    model: ModelProto, limits: InliningLimits = InliningLimits()
) -> ModelProto:
    """Return a model with all functions inlined, after its size is counted.

    A file of two kilobytes can hold functions that double at each of a hundred levels.
    """
    if not model.functions:
        return model
    expansion = _Expansion({_key_of(one): one for one in model.functions}, limits)
    for key in expansion.functions:
        expansion.size_of(key, ())
    expansion.check("the model", expansion.size(model.graph.node, ()))
    try:
        return onnx.inliner.inline_local_functions(model)
    except (onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"expected functions that can be inlined, found {reason}") from (
            error
        )


@dataclass
class _Expansion:
    """Counts what functions become, each once.

    Attributes
    ----------
    known
        Sizes of the functions counted so far.
    """

    functions: Mapping[_Key, FunctionProto]
    limits: InliningLimits
    known: dict[_Key, _Size] = field(default_factory=dict)

    def size_of(self, key: _Key, callers: tuple[_Key, ...]) -> _Size:
        """Return the size of a function once inlined, given its callers from the outermost on."""
        if key in self.known:
            return self.known[key]
        if key in callers:
            circle = " -> ".join(map(_shown, (*callers[callers.index(key) :], key)))
            raise InvalidInputError(
                f"function {_shown(key)} calls itself ({circle}); expected functions that do not."
            )
        if len(callers) >= self.limits.depth:
            raise InvalidInputError(
                f"function {_shown(callers[0])} leads to calls nested more than "
                f"{self.limits.depth} deep."
            )
        found = self.size(self.functions[key].node, (*callers, key))
        self.check(f"function {_shown(key)}", found)
        self.known[key] = found
        return found

    def size(self, nodes: Iterable[NodeProto], callers: tuple[_Key, ...]) -> _Size:
        """Return the size of nodes once inlined, with those of their bodies."""
        total = _Size()
        for node in nodes:
            key = (domain_of(node.domain), node.op_type, node.overload)
            inside = bodies(node)
            total += _Size(1, node.ByteSize())
            for body in inside:
                total += self.size(body.node, callers)
            if key in self.functions:
                total += self.size_of(key, callers)
        return total

    def check(self, what: str, size: _Size) -> None:
        """Raise `InvalidInputError` if something is larger than the limits allow."""
        if size.nodes > self.limits.nodes:
            raise InvalidInputError(
                f"{what} has {size.nodes:,} nodes once functions are inlined; expected at most "
                f"{self.limits.nodes:,}."
            )
        if size.bytes > self.limits.mebibytes << 20:
            raise InvalidInputError(
                f"{what} has {size.bytes >> 20:,} MiB once functions are inlined; expected at most "
                f"{self.limits.mebibytes:,}."
            )


def _key_of(function: FunctionProto) -> _Key:
    return domain_of(function.domain), function.name, function.overload


def _shown(key: _Key) -> str:
    return repr(".".join(filter(None, key)))
