"""Cuts an ONNX model into one model for each stage of a partition.

Weights go to the stages that read them, and so do nodes that compute constants. Sizes that
operators ask for (Shape, Size) become constants, since all dimensions are fixed by then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnx.external_data_helper
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from boundmark.datasets.file_format import NO_DIMS
from boundmark.datasets.readers.onnx.control_flow import reads_of
from boundmark.datasets.readers.onnx.file import (
    SHAPE_OPS,
    find_constants,
    find_needed,
    find_producers,
)
from boundmark.datasets.readers.onnx.model import inferred_model, unique_names
from boundmark.datasets.readers.onnx.operators import KnownTensors, known_tensors
from boundmark.problems.computation_graph import Shape
from boundmark.problems.errors import InvalidInputError

# Initializers need not be inputs of the graph from this version on.
LEAST_IR_VERSION = 4


@dataclass(frozen=True)
class StageModel:
    """A stage's own model.

    Attributes
    ----------
    stage
        Its number in the partition.
    operators
        How many of the partition's operators it runs.
    """

    stage: int
    model: ModelProto
    operators: int


def split_model(
    path: Path, stages: Mapping[str, int], order: Sequence[int], dims: Mapping[str, int] = NO_DIMS
) -> list[StageModel]:
    """Return a model for each stage that has operators, in the order in which data flows."""
    whole, _, _ = inferred_model(path, dims)
    for node, name in zip(whole.graph.node, unique_names(whole.graph), strict=True):
        node.name = name
    cut = _Cut(whole, stages)
    filled = [stage for stage in order if stage in set(stages.values())]
    models = [cut.stage(stage, is_last=stage == filled[-1]) for stage in filled]
    for one in models:
        _load_weights(one.model, path.parent)
    return models


class _Cut:
    """A model, with the lookups that cutting it needs."""

    def __init__(self, whole: ModelProto, stages: Mapping[str, int]) -> None:
        graph = whole.graph
        names = unique_names(graph)
        self.whole = whole
        self.constants = find_constants(graph)
        self.producers = find_producers(graph, names)
        needed = find_needed(graph, self.producers, self.constants)
        missing = [names[at] for at in needed if names[at] not in stages]
        if missing:
            raise InvalidInputError(f"operator {missing[0]!r} has no stage; expected one for each.")
        self.stage_of = {at: stages[names[at]] for at in needed}
        self.known = known_tensors(graph)
        self.initializers = {tensor.name: tensor for tensor in graph.initializer}
        self.read_in: dict[str, set[int]] = {}
        for at, stage in self.stage_of.items():
            for tensor in reads_of(graph.node[at]):
                self.read_in.setdefault(tensor, set()).add(stage)

    def stage(self, stage: int, *, is_last: bool) -> StageModel:
        """Return the model of a stage; the last one's also returns what depends on no input."""
        graph = self.whole.graph
        own = [at for at, its in self.stage_of.items() if its == stage]
        returned = {value.name for value in graph.output}
        outputs = [
            name
            for at in own
            for name in graph.node[at].output
            if name and (name in returned or self.read_in.get(name, set()) - {stage})
        ]
        fixed = [name for name in returned if name in self.constants] if is_last else []
        wanted = [name for at in own for name in reads_of(graph.node[at]) if name]
        made = {name for at in own for name in graph.node[at].output}
        inputs = [
            name
            for name in dict.fromkeys(wanted)
            if name not in self.constants and name not in made
        ]
        nodes, tensors = self._constants_for([*wanted, *fixed])
        part = onnx.helper.make_graph(
            [graph.node[at] for at in sorted({*own, *nodes})],
            f"{graph.name or 'model'}-stage-{stage}",
            [self._typed(name) for name in inputs],
            [self._typed(name) for name in (*outputs, *fixed)],
            tensors,
        )
        model = onnx.helper.make_model(
            part,
            opset_imports=list(self.whole.opset_import),
            ir_version=max(LEAST_IR_VERSION, self.whole.ir_version),
            producer_name="boundmark",
        )
        return StageModel(stage, model, len(own))

    def _constants_for(self, wanted: Sequence[str]) -> tuple[set[int], list[TensorProto]]:
        """Return the nodes that make constants that are read, and weights and sizes for them."""
        nodes: set[int] = set()
        tensors: dict[str, TensorProto] = {}
        pending = [name for name in wanted if name in self.constants]
        while pending:
            name = pending.pop()
            if name in self.initializers:
                tensors[name] = self.initializers[name]
                continue
            at = self.producers.get(name)
            if at is None or at in nodes or name in tensors:
                continue
            node = self.whole.graph.node[at]
            if node.op_type in SHAPE_OPS:
                tensors[name] = numpy_helper.from_array(_size(node, self.known), name)
            else:
                nodes.add(at)
                pending += [tensor for tensor in reads_of(node) if tensor]
        return nodes, list(tensors.values())

    def _typed(self, name: str) -> ValueInfoProto:
        if name not in self.known.types:
            raise InvalidInputError(
                f"the shape of tensor {name!r} is unknown; expected one, since a stage ends there."
            )
        shape, element = self.known.types[name]
        return onnx.helper.make_tensor_value_info(name, element, shape)


def _size(
    node: NodeProto, known: KnownTensors
) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return what a Shape or Size yields."""
    shape: Shape = known.types[node.input[0]][0]
    if node.op_type == "Size":
        return np.array(prod(shape), dtype=np.int64)
    settings = {attribute.name: attribute.i for attribute in node.attribute}
    part = shape[slice(settings.get("start", 0), settings.get("end"))]
    return np.array(part, dtype=np.int64)


def _load_weights(model: ModelProto, folder: Path) -> None:
    """Read the weights that the whole model keeps in other files."""
    for tensor in _tensors(model.graph):
        if tensor.data_location == TensorProto.EXTERNAL:
            try:
                onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
            except (OSError, ValueError, onnx.checker.ValidationError) as error:
                raise InvalidInputError(
                    f"the weights {tensor.name!r} cannot be read from beside the model: {error}"
                ) from error
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]


def _tensors(graph: GraphProto) -> list[TensorProto]:
    found = list(graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                found.append(attribute.t)
            if attribute.HasField("g"):
                found += _tensors(attribute.g)
    return found
