"""Computation graphs in JSON, for other programs and human readers; see `graph_rows`.

The file is one object: the metadata, and ``rows``, a list of objects.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boundmark.datasets.graph_rows import (
    COLUMNS,
    GraphOrigin,
    check_metadata,
    from_rows,
    to_rows,
    with_tuples,
)
from boundmark.datasets.json_fields import fields_of, objects, read_object
from boundmark.problems.computation_graph import LEFT_OUT, ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming
from boundmark.problems.json_documents import check_fields, is_integer_list

LARGEST = 2**63 - 1


def to_json(graph: ComputationGraph, origin: GraphOrigin) -> str:
    """Return a graph as JSON text, one line per row; raises as `graph_rows.to_rows` does."""
    rows, metadata = to_rows(graph, origin)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    head = "".join(f" {json.dumps(key)}: {json.dumps(x)},\n" for key, x in metadata.items())
    return f'{{\n{head} "rows": [\n{lines}\n ]\n}}\n'


def is_one(content: bytes) -> bool:
    """Whether a file's content is an object with rows."""
    return {"format", "rows"} <= fields_of(content)


def load(path: Path) -> ComputationGraph:
    """Read a graph.

    Raises
    ------
    InvalidInputError
        If the file is not such JSON, of another version of the format, or does not describe a
        graph.
    """
    return load_with_origin(path)[0]


def load_with_origin(path: Path) -> tuple[ComputationGraph, GraphOrigin]:
    """Read a graph, and where it is from; raises as `load` does."""
    value = read_object(path)
    with naming(path):
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
