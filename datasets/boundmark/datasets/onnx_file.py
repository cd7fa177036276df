"""Computation graphs from ONNX files: shapes inferred, constants folded, operations counted."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from boundmark.datasets.onnx_flops import Shape, flops
from boundmark.datasets.source_file import naming, read_bytes
from boundmark.problems.arrays import non_negative_integers
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError

# Their outputs follow from shapes alone, and all shapes are fixed.
SHAPE_OPS = frozenset({"Shape", "Size"})

# Their outputs are not constants, whatever their inputs are.
RANDOM_OPS = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"}
    | {"RandomUniform", "RandomUniformLike"}
)

_BITS: Mapping[int, int] = {TensorProto.FLOAT: 32, TensorProto.DOUBLE: 64, TensorProto.BOOL: 8}

_DTYPES: Mapping[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.UINT8: "int8",
}


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: Shape
    element: int

    @property
    def bytes(self) -> int:
        return -(-prod(self.shape) * self.bits // 8)

    @property
    def bits(self) -> int:
        """Size of an element, which all types but a few have in their names."""
        digits = re.search(r"\d+", self.kind)
        if self.element not in _BITS and digits is None:
            raise InvalidInputError(
                f"tensor {self.name!r} has elements of type {self.kind}; expected numbers."
            )
        return _BITS[self.element] if digits is None else int(digits.group())

    @property
    def kind(self) -> str:
        known = self.element in TensorProto.DataType.values()
        return TensorProto.DataType.Name(self.element) if known else "unknown"

    @property
    def dtype(self) -> str:
        return _DTYPES.get(self.element) or self.kind.lower()


def load(path: str | Path) -> ComputationGraph:
    """Read a model.

    Dimensions of graph inputs that the model leaves open are 1; a dimension with a name has the
    same size wherever the name occurs. Functions defined in the model are inlined.

    A node whose inputs are all constants is itself a constant, and so are the results of Shape and
    Size. Constants are no nodes of the graph, and neither are nodes that no output of the graph
    depends on. `param_bytes` of an operation is the size of all distinct constants that it reads,
    so one shared by two operations counts in both. The graph has one tensor a node: `output_bytes`
    adds up the outputs that are read or returned. Weights in external files are not opened. Nodes
    without a name are called after type and position.

    The dtype is the one in which most of the arithmetic is done, judged by each node's first input.

    Raises
    ------
    InvalidInputError
        If the file is cut off or not ONNX, reads a tensor that nothing produces, has a cycle or
        control flow, or does not determine the shape of a tensor that matters.
    """
    path = Path(path)
    content = read_bytes(path)
    with naming(path):
        return _graph(_inferred(_parsed(content)))


def _parsed(content: bytes) -> ModelProto:
    try:
        model = onnx.load_model_from_string(content)
    except DecodeError as error:
        raise InvalidInputError("expected a complete ONNX model; it cannot be parsed.") from error
    missing = "graph" if not model.HasField("graph") else "opset_import"
    if missing == "graph" or not model.opset_import:
        raise InvalidInputError(f"{missing} is missing; expected a complete ONNX model.")
    return model


def _inferred(model: ModelProto) -> ModelProto:
    """Inline functions, fix the open dimensions, and infer the shapes that follow."""
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    graph = model.graph
    given = {tensor.name for tensor in graph.initializer}
    named = set()
    for value in graph.input:
        if value.name in given:
            continue
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                named.add(dim.dim_param)
            if dim.dim_value < 1:
                dim.dim_value = 1
    for value in (*graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in named:
                dim.dim_value = 1
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"expected shapes that fit together, found {reason}.") from error


def _graph(model: ModelProto) -> ComputationGraph:
    graph = model.graph
    names = _names(graph)
    constants = _constants(graph, names)
    producers = _producers(graph, names)
    needed = _needed(graph, producers, constants)
    dag = _dag(graph, names, constants, producers, needed)
    used = {value.name for value in graph.output}
    used.update(tensor for at in needed for tensor in graph.node[at].input)
    tensors = _tensors(graph)

    def sized(tensor: str) -> _Tensor:
        if tensor not in tensors:
            raise InvalidInputError(
                f"the shape of tensor {tensor!r} is unknown; expected one that follows from "
                "the shapes of the inputs."
            )
        return tensors[tensor]

    operations, written, parameters, read = [], [], [], []
    arithmetic: Counter[str] = Counter()
    for at in needed:
        node = graph.node[at]
        inputs = dict.fromkeys(filter(None, node.input))
        outputs = [sized(tensor) for tensor in node.output if tensor in used]
        shapes = [sized(tensor).shape if tensor else None for tensor in node.input]
        with naming(f"node {names[at]!r}"):
            count = flops(
                node.op_type, shapes, [output.shape for output in outputs], _attributes(node)
            )
        operations.append(count)
        written.append(sum(output.bytes for output in outputs))
        parameters.append(sum(sized(tensor).bytes for tensor in inputs if tensor in constants))
        read.append(sum(sized(tensor).bytes for tensor in inputs if tensor not in constants))
        if count and inputs:
            arithmetic[sized(next(iter(inputs))).dtype] += count

    kept = tuple(names[at] for at in needed)
    return ComputationGraph(
        names=kept,
        op_types=tuple(graph.node[at].op_type for at in needed),
        dag=dag,
        flops=non_negative_integers(operations, "flops", kept),
        output_bytes=non_negative_integers(written, "output_bytes", kept),
        param_bytes=non_negative_integers(parameters, "param_bytes", kept),
        read_bytes=non_negative_integers(read, "read_bytes", kept),
        dtype=max(arithmetic, key=arithmetic.__getitem__, default="float32"),
    )


def _names(graph: GraphProto) -> list[str]:
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


def _constants(graph: GraphProto, names: Sequence[str]) -> set[str]:
    """Return the tensors that do not depend on the values of the graph's inputs."""
    constants = {tensor.name for tensor in graph.initializer}
    constants.update(tensor.values.name for tensor in graph.sparse_initializer)
    for name, node in zip(names, graph.node, strict=True):
        if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
            raise InvalidInputError(
                f"node {name!r} is control flow ({node.op_type}), whose cost depends on the "
                "data; expected a graph without it."
            )
        fixed = node.op_type not in RANDOM_OPS and constants.issuperset(filter(None, node.input))
        if fixed or node.op_type in SHAPE_OPS:
            constants.update(filter(None, node.output))
    return constants


def _producers(graph: GraphProto, names: Sequence[str]) -> dict[str, int]:
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


def _needed(graph: GraphProto, producers: Mapping[str, int], constants: set[str]) -> list[int]:
    """Return the positions of the nodes that the graph's outputs depend on, constants apart."""
    needed: set[int] = set()
    pending = [value.name for value in graph.output]
    while pending:
        tensor = pending.pop()
        at = producers.get(tensor)
        if at is not None and at not in needed and tensor not in constants:
            needed.add(at)
            pending.extend(graph.node[at].input)
    return sorted(needed)


def _dag(
    graph: GraphProto,
    names: Sequence[str],
    constants: set[str],
    producers: Mapping[str, int],
    needed: Sequence[int],
) -> Dag:
    number = {at: v for v, at in enumerate(needed)}
    inputs = {value.name for value in graph.input}
    edges = []
    for at in needed:
        for tensor in graph.node[at].input:
            if not tensor or tensor in constants or tensor in inputs:
                continue
            if tensor not in producers:
                raise InvalidInputError(
                    f"node {names[at]!r} reads tensor {tensor!r}, which nothing produces; "
                    "expected an input, an initializer or a node's output."
                )
            edges.append((number[producers[tensor]], number[at]))
    return Dag.from_edges(len(needed), edges, tuple(names[at] for at in needed))


def _tensors(graph: GraphProto) -> dict[str, _Tensor]:
    """Return the tensors whose shape and type are fully known."""
    tensors = dict(_typed((*graph.value_info, *graph.input, *graph.output)))
    for tensor in graph.initializer:
        tensors[tensor.name] = _Tensor(tensor.name, tuple(tensor.dims), tensor.data_type)
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        tensors[name] = _Tensor(name, tuple(sparse.dims), sparse.values.data_type)
    return tensors


def _typed(values: Sequence[ValueInfoProto]) -> Iterator[tuple[str, _Tensor]]:
    for value in values:
        kind = value.type.tensor_type
        known = value.type.HasField("tensor_type") and kind.HasField("shape") and kind.elem_type
        if known and all(d.HasField("dim_value") and d.dim_value >= 0 for d in kind.shape.dim):
            yield (
                value.name,
                _Tensor(value.name, tuple(d.dim_value for d in kind.shape.dim), kind.elem_type),
            )


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {
        attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute
    }
