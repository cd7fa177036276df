"""Read ONNX models: parsed, open dimensions fixed, functions inlined, shapes inferred.

Outputs of custom operators, which ONNX does not know, are taken to have the shape of the first
input where the model does not state theirs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from boundmark.datasets.file_format import UnknownDimensionError
from boundmark.datasets.onnx_constants import fold_constants
from boundmark.datasets.onnx_control_flow import bodies
from boundmark.datasets.onnx_operators import domain_of, known_tensors, signature
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes

# Propagating the values of one twice as long takes a second for each operator that reads it.
LONGEST_VECTOR = 2**20


def inferred_model(
    source: Path | ModelProto, dims: Mapping[str, int]
) -> tuple[ModelProto, tuple[str, ...], set[str]]:
    """Read a model, inline its functions and infer the shapes of its tensors.

    Parameters
    ----------
    source
        The model's file, or the model itself, which remains as it is.

    Returns
    -------
    The model, without weights that are in other files; what was taken for granted, as sentences;
    and the names of tensors whose shapes were.

    Raises
    ------
    InvalidInputError
        If the file is cut off or not ONNX, or shapes do not fit together.
    """
    if isinstance(source, ModelProto):
        model = ModelProto()
        model.CopyFrom(source)
        return _inferred_model(model, dims)
    content = read_bytes(source)
    with naming(source):
        return _inferred_model(_parsed(content), dims)


def _inferred_model(
    model: ModelProto, dims: Mapping[str, int]
) -> tuple[ModelProto, tuple[str, ...], set[str]]:
    _check_parts(model)
    notes = fix_dimensions(model.graph, dims)
    inferred = _with_folded_constants(_inferred(with_functions_inlined(model)))
    model, assumed = _with_assumed_shapes(inferred)
    return (_with_folded_constants(model) if assumed else model), notes, assumed


def _with_folded_constants(model: ModelProto) -> ModelProto:
    """Compute what shapes are computed from, as long as some shape is unknown and that helps."""
    while _has_unknown_shapes(model.graph) and fold_constants(model.graph):
        model = _inferred(model)
    return model


def _has_unknown_shapes(graph: GraphProto) -> bool:
    types = known_tensors(graph).types
    return any(name and name not in types for node in graph.node for name in node.output)


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


# More elements than fit into any memory; products of a few of them fit into 64 bits.
LARGEST_SIZE = 2**31 - 1

# Names in a warning.
MOST_NAMED = 8


def fix_dimensions(graph: GraphProto, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Give every open dimension of a graph's inputs a size, and note the assumed ones.

    Dimensions without a name are called after the input and their position, e.g. ``input_ids.0``.

    Parameters
    ----------
    dims
        Sizes by name.

    Returns
    -------
    Sentences about what was taken for granted.

    Raises
    ------
    InvalidInputError
        If no dimension has a name that is given, or a size is not positive.
    """
    for name, size in dims.items():
        if type(size) is not int or not 1 <= size <= LARGEST_SIZE:
            raise InvalidInputError(
                f"dimension {quoted(name)} is {quoted(size)}; expected 1 to {LARGEST_SIZE}."
            )
    initial = {tensor.name for tensor in graph.initializer}
    named: dict[str, int] = {}
    open_names: dict[str, None] = {}
    for value in graph.input:
        if value.name in initial:
            continue
        for at, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_param") and dim.dim_value >= 1:
                continue
            name = dim.dim_param or f"{value.name}.{at}"
            open_names[name] = None
            size = dims.get(name, 1)
            if dim.dim_param:
                named[name] = size
            dim.dim_value = size
    unknown = [name for name in dims if name not in open_names]
    if unknown:
        known = ", ".join(open_names) or "none: the sizes of all inputs are fixed"
        raise UnknownDimensionError(
            f"there is no open dimension {quoted(unknown[0])}; the model has {known}.",
            (*open_names,),
        )
    for value in (*graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in named:
                dim.dim_value = named[dim.dim_param]
    assumed = [name for name in open_names if name not in dims]
    if not assumed:
        return ()
    shown = ", ".join(assumed[:MOST_NAMED]) + (", ..." if len(assumed) > MOST_NAMED else "")
    plural = "dimensions are" if len(assumed) > 1 else "dimension is"
    return (
        f"{len(assumed)} open {plural} taken to be 1: {shown}; "
        f"give sizes with --dim {assumed[0]}=SIZE",
    )


# Domain, name and overload.
_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class InliningLimits:
    """Largest size of a model with inlined functions; the largest real models are a tenth of that.

    Attributes
    ----------
    nodes
        In the whole model, and in any one function.
    mebibytes
        Of the same.
    depth
        Of functions that call one another.
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

    Raises
    ------
    InvalidInputError
        If a function calls itself, or the model would be larger than the limits allow.
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


def is_custom(node: NodeProto, versions: Mapping[str, int]) -> bool:
    """Whether ONNX has no definition of a node's type in the version that the model imports."""
    domain = domain_of(node.domain)
    return not signature(node.op_type, versions.get(domain, 0), domain).version


def _with_assumed_shapes(model: ModelProto) -> tuple[ModelProto, set[str]]:
    """Give outputs of custom operators whose shapes are unknown the shape of the first input.

    Shapes are inferred again after each round of assumptions, because others follow.

    Returns
    -------
    The model, and the names of the outputs.
    """
    versions = versions_of(model)
    assumed: set[str] = set()
    if not any(is_custom(node, versions) for node in model.graph.node):
        return model, assumed
    while found := _assume(model.graph, versions):
        assumed |= found
        model = _inferred(model)
    return model, assumed


def _assume(graph: GraphProto, versions: Mapping[str, int]) -> set[str]:
    known = known_tensors(graph)
    types = dict(known.types)
    weights = {tensor.name for tensor in graph.initializer}
    found: dict[str, tuple[tuple[int, ...], int]] = {}
    for node in graph.node:
        if not is_custom(node, versions) or bodies(node):
            continue
        data = [name for name in node.input if name in types and name not in weights]
        for output in node.output:
            if output and output not in types and data:
                found[output] = types[output] = types[data[0]]
    kept = [value for value in graph.value_info if value.name not in found]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    stated = {value.name: value for value in graph.output}
    for name, (shape, element) in found.items():
        value = stated[name] if name in stated else graph.value_info.add()
        value.name = name
        value.type.tensor_type.elem_type = element
        value.type.tensor_type.ClearField("shape")
        value.type.tensor_type.shape.SetInParent()
        for extent in shape:
            value.type.tensor_type.shape.dim.add().dim_value = extent
    return set(found)
