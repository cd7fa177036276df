"""Shapes, element types and small values of the tensors of an ONNX graph."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TypeAlias

import onnx.numpy_helper
from onnx import GraphProto, TensorProto, ValueInfoProto

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.tensor import ELEMENT_BITS, Tensor

Shape: TypeAlias = tuple[int, ...]

# Of integers that operators are set to, such as axes; longer lists are data.
MOST_VALUES = 64

_RENAMED = {"float": "float32", "double": "float64"}


@dataclass(frozen=True)
class KnownTensors:
    """The types and constants that a graph states for its tensors, by name.

    Attributes
    ----------
    types
        Shape and element type of those of which both are fully known.
    constants
        Those whose values are in the graph itself.
    """

    types: Mapping[str, tuple[Shape, int]]
    constants: Mapping[str, TensorProto]

    def describe(self, name: str) -> Tensor:
        """Return the tensor of a name.

        Raises
        ------
        InvalidInputError
            If its shape is not known, or its elements are no numbers.
        """
        if name not in self.types:
            raise InvalidInputError(
                f"the shape of tensor {name!r} is unknown; expected one that follows from "
                "the shapes of the inputs."
            )
        shape, element = self.types[name]
        kind = _element_type(element)
        dtype = _RENAMED.get(kind, kind)
        if dtype not in ELEMENT_BITS:
            raise InvalidInputError(
                f"tensor {name!r} has elements of type {kind}; expected numbers."
            )
        return Tensor(name, shape, dtype)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return the values of a constant with few integer elements; None for other tensors.

        Raises
        ------
        InvalidInputError
            If it has not as many values as its shape says.
        """
        tensor = self.constants.get(name)
        if (
            tensor is None
            or tensor.data_type not in (TensorProto.INT64, TensorProto.INT32)
            or tensor.data_location == TensorProto.EXTERNAL
            or prod(tensor.dims) > MOST_VALUES
        ):
            return None
        try:
            return tuple(int(value) for value in onnx.numpy_helper.to_array(tensor).ravel())
        except ValueError as error:
            raise InvalidInputError(
                f"the values of tensor {name!r} do not fit its shape, {list(tensor.dims)}; "
                "expected one for each element."
            ) from error


@cache
def _element_type(element: int) -> str:
    known = element in TensorProto.DataType.values()
    return TensorProto.DataType.Name(element).lower() if known else "unknown"


def known_tensors(graph: GraphProto) -> KnownTensors:
    """Collect what is known after shape inference."""
    types = dict(_typed((*graph.value_info, *graph.input, *graph.output)))
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for name, tensor in constants.items():
        types[name] = (tuple(tensor.dims), tensor.data_type)
    for sparse in graph.sparse_initializer:
        types[sparse.values.name] = (tuple(sparse.dims), sparse.values.data_type)
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            constants.update(
                (node.output[0], attribute.t)
                for attribute in node.attribute
                if attribute.name == "value"
            )
    return KnownTensors(types, constants)


def _typed(values: Iterable[ValueInfoProto]) -> Iterable[tuple[str, tuple[Shape, int]]]:
    for value in values:
        kind = value.type.tensor_type
        known = value.type.HasField("tensor_type") and kind.HasField("shape") and kind.elem_type
        if known and all(d.HasField("dim_value") and d.dim_value >= 0 for d in kind.shape.dim):
            yield value.name, (tuple(d.dim_value for d in kind.shape.dim), kind.elem_type)
