"""Computation graphs as rows, the form in which files keep them: Parquet and JSON.

There is one row per operator, and one per tensor that none of them writes. Columns:

- ``name``: of the operator; of the tensor for parameters and inputs.
- ``kind``: ``"operator"``, ``"parameter"`` or ``"input"``.
- ``op_type``: empty but for operators.
- ``flops``: arithmetic operations.
- ``reads``: numbers of tensors, -1 where an optional input is left out.
- ``shapes``, ``dtypes``: one entry for each tensor that the row brings; tensors are numbered in the
  order of these.
- ``attributes``: by name.

An operator's tensor is called like the operator, with ``:1``, ``:2`` and so on for further ones.
Everything else is the file's metadata, one object. There, ``kernels`` is left out if each operator
is a kernel by itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph, Operator, Tensor
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.json_documents import check_fields, is_integer_list

FORMAT = "boundmark-graph/1"

OPERATOR, PARAMETER, INPUT = KINDS = ("operator", "parameter", "input")

COLUMNS = ("name", "kind", "op_type", "flops", "reads", "shapes", "dtypes", "attributes")

_METADATA = {
    "dtype": str, "results": list, "notes": list, "source": str,
    "configuration": dict, "versions": dict, "parameters": int,
}  # fmt: skip


@dataclass(frozen=True)
class GraphOrigin:
    """Where a stored graph comes from.

    Attributes
    ----------
    source
        The architecture and who published it, in a sentence.
    configuration
        What the architecture was set to, batch size and sequence length included.
    versions
        Of the software that wrote the graph, by name.
    parameters
        Number of the model's weights; tied ones count once.
    """

    source: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    parameters: int = 0


def to_rows(
    graph: ComputationGraph, origin: GraphOrigin
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of a graph, and its metadata.

    Raises
    ------
    InvalidInputError
        If an operator reads a tensor before it is written, or a tensor is no operator's.
    """
    rows, numbers = _rows(graph)
    metadata = {
        "format": FORMAT,
        "dtype": graph.dtype,
        "results": [numbers[result] for result in graph.results],
        "notes": list(graph.notes),
        "source": origin.source,
        "configuration": dict(origin.configuration),
        "versions": dict(origin.versions),
        "parameters": origin.parameters,
    }
    if graph.kernels:
        metadata["kernels"] = list(graph.kernels)
    return rows, metadata


def from_rows(
    rows: Iterable[Sequence[Any]], metadata: Mapping[str, Any]
) -> tuple[ComputationGraph, GraphOrigin]:
    """Return the graph of rows, each with a value of the right type for each of `COLUMNS`.

    Raises
    ------
    InvalidInputError
        If they do not describe a graph.
    """
    tensors: list[Tensor] = []
    parameters: list[int] = []
    operators: list[Operator] = []
    for name, kind, op_type, flops, reads, shapes, dtypes, attributes in rows:
        with naming(f"row {name!r}"):
            first = len(tensors)
            tensors += _tensors(name, shapes, dtypes)
            if kind == OPERATOR:
                writes = tuple(range(first, len(tensors)))
                operators.append(Operator(name, op_type, flops, tuple(reads), writes, attributes))
            elif kind == PARAMETER:
                parameters += range(first, len(tensors))
            elif kind != INPUT:
                raise InvalidInputError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}.")
    graph = ComputationGraph(
        operators=tuple(operators),
        tensors=tuple(tensors),
        parameters=frozenset(parameters),
        results=tuple(metadata["results"]),
        dtype=metadata["dtype"],
        notes=tuple(metadata["notes"]),
        kernels=tuple(metadata.get("kernels", ())),
    )
    origin = GraphOrigin(
        *(metadata[f] for f in ("source", "configuration", "versions", "parameters"))
    )
    return graph, origin


def check_metadata(metadata: Any) -> Mapping[str, Any]:
    """Return the metadata of a graph, checked.

    Raises
    ------
    InvalidInputError
        If it is of another format, or a field is missing or malformed.
    """
    if not isinstance(metadata, dict):
        raise InvalidInputError(f"the metadata is {quoted(metadata)}; expected an object.")
    found = metadata.get("format")
    if found != FORMAT:
        newer = isinstance(found, str) and found.startswith("boundmark-graph/")
        hint = "; another version of boundmark wrote it" if newer else ""
        raise InvalidInputError(f"format is {quoted(found)}; expected {FORMAT!r}{hint}.")
    check_fields(metadata, tuple(_METADATA))
    for name, kind in _METADATA.items():
        if not isinstance(metadata[name], kind):
            raise InvalidInputError(
                f"{name} is {quoted(metadata[name])}; expected a {kind.__name__}."
            )
    if not is_integer_list(metadata["results"]):
        raise InvalidInputError("results is not a list of tensor numbers.")
    if not is_integer_list(metadata.get("kernels", [])):
        raise InvalidInputError("kernels is not a list of operator numbers.")
    return metadata


def with_tuples(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as operators have them; JSON knows lists only."""
    return {name: tuple(x) if isinstance(x, list) else x for name, x in attributes.items()}


def _rows(graph: ComputationGraph) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Return the rows, and the numbers that tensors have in the file."""
    rows: list[dict[str, Any]] = []
    numbers: dict[int, int] = {}
    for operator in graph.operators:
        for tensor in operator.reads:
            if tensor != LEFT_OUT and tensor not in numbers:
                if graph.producers[tensor] >= 0:
                    raise InvalidInputError(
                        f"node {operator.name!r} reads {graph.tensors[tensor].name!r} before it is "
                        "written; expected operators in the order in which they can run."
                    )
                kind = PARAMETER if tensor in graph.parameters else INPUT
                numbers[tensor] = len(numbers)
                rows.append(_row(graph, graph.tensors[tensor].name, kind, [tensor]))
        for tensor in operator.writes:
            numbers[tensor] = len(numbers)
        row = _row(graph, operator.name, OPERATOR, operator.writes)
        row["op_type"], row["flops"] = operator.op_type, operator.flops
        row["reads"] = [LEFT_OUT if x == LEFT_OUT else numbers[x] for x in operator.reads]
        row["attributes"] = dict(operator.attributes)
        rows.append(row)
    if len(numbers) < len(graph.tensors):
        unused = next(number for number in range(len(graph.tensors)) if number not in numbers)
        raise InvalidInputError(
            f"tensor {graph.tensors[unused].name!r} is neither read nor written; "
            "expected none such."
        )
    return rows, numbers


def _row(graph: ComputationGraph, name: str, kind: str, tensors: Sequence[int]) -> dict[str, Any]:
    described = [graph.tensors[tensor] for tensor in tensors]
    return {
        "name": name,
        "kind": kind,
        "op_type": "",
        "flops": 0,
        "reads": [],
        "shapes": [list(tensor.shape) for tensor in described],
        "dtypes": [tensor.dtype for tensor in described],
        "attributes": {},
    }


def _tensors(name: str, shapes: Sequence[Any], dtypes: Sequence[Any]) -> Iterator[Tensor]:
    if len(shapes) != len(dtypes):
        raise InvalidInputError(f"{len(shapes)} shapes and {len(dtypes)} dtypes; expected as many.")
    for number, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        yield Tensor(f"{name}:{number}" if number else name, tuple(shape), dtype)
