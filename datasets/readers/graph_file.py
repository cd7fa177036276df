"""Computation graphs in JSON files of our own: one object, the metadata and ``rows``.

There is one row per operator, and one per tensor that none of them writes. Fields of a row:

- ``name``: of the operator; of the tensor for parameters and inputs.
- ``kind``: ``"operator"``, ``"parameter"`` or ``"input"``.
- ``op_type``: empty but for operators.
- ``flops``: arithmetic operations.
- ``reads``: numbers of tensors, -1 where an optional input is left out.
- ``shapes``, ``dtypes``: one entry for each tensor that the row brings; tensors are numbered in the
  order of these.
- ``attributes``: by name.

An operator's tensor is called like the operator, with ``:1``, ``:2`` and so on for further ones.
Of the metadata, ``kernels`` is left out if each operator is a kernel by itself.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boundmark.datasets.file_format import FileFormat
from boundmark.datasets.json_fields import fields_of, object_in, objects
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph, Operator, Tensor
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes
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
        Versions of the software that wrote the graph, by name.
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
    """Return the rows of a graph, and its metadata."""
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
    """Return the graph of rows, each with a value of the right type for each of `COLUMNS`."""
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
    """Return the metadata of a graph, checked."""
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


LARGEST = 2**63 - 1


def to_json(graph: ComputationGraph, origin: GraphOrigin) -> str:
    """Return a graph as JSON text, one line per row; raises as `to_rows` does."""
    rows, metadata = to_rows(graph, origin)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = "".join(f" {json.dumps(key)}: {json.dumps(x)},\n" for key, x in metadata.items())
    return f'{{\n{head} "rows": [\n{lines}\n ]\n}}\n'


def is_json(content: bytes) -> bool:
    """Whether a file's content is an object with rows."""
    return {"format", "rows"} <= fields_of(content)


def load(path: Path) -> ComputationGraph:
    """Read a graph."""
    content = read_bytes(path)
    with naming(path):
        return from_json(content)[0]


def from_json(content: bytes) -> tuple[ComputationGraph, GraphOrigin]:
    """Read a graph that `to_json` wrote, and where it is from."""
    value = object_in(content)
    metadata = check_metadata(value)
    rows = objects(value, "rows")
    return from_rows((_values(row, at) for at, row in enumerate(rows)), metadata)


def _values(row: Any, at: int) -> list[Any]:
    """Return the values of a row in the order of the columns, each of the right type."""
    with naming(f"entry {at} of rows"):
        check_fields(row, COLUMNS)
        checks: dict[str, Callable[[Any], bool]] = {
            **dict.fromkeys(("name", "kind", "op_type"), _is_text),
            "flops": lambda x: type(x) is int and abs(x) <= LARGEST,
            "reads": lambda x: is_integer_list(x) and all(LEFT_OUT <= one <= LARGEST for one in x),
            "shapes": lambda x: isinstance(x, list) and all(map(is_integer_list, x)),
            "dtypes": lambda x: isinstance(x, list) and all(map(_is_text, x)),
            "attributes": lambda x: isinstance(x, dict),
        }
        for column, is_right in checks.items():
            if not is_right(row[column]):
                raise InvalidInputError(
                    f"{column} is {quoted(row[column])}; expected {_EXPECTED[column]}."
                )
        return [*(row[column] for column in COLUMNS[:-1]), with_tuples(row["attributes"])]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_EXPECTED = {
    **dict.fromkeys(("name", "kind", "op_type"), "a text"),
    "flops": "an integer of 64 bits",
    "reads": "a list of tensor numbers",
    "shapes": "a list of lists of integers",
    "dtypes": "a list of texts",
    "attributes": "an object",
}


# One, in the tuple that the entry point names.
FORMATS = (FileFormat("JSON graph", (".json",), load, is_json),)
