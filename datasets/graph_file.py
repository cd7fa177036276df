"""Computation graphs in Parquet; see `graph_rows` for the columns.

Attributes are JSON, and so is the metadata, in the file's own under ``boundmark``.
"""

import io
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boundmark.datasets.graph_rows import (
    COLUMNS,
    FORMAT,
    GraphOrigin,
    check_metadata,
    from_rows,
    to_rows,
    with_tuples,
)
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = b"boundmark"


def to_parquet(graph: ComputationGraph, origin: GraphOrigin) -> bytes:
    """Return a graph as the content of a Parquet file, the same for the same graph and origin.

    Raises
    ------
    InvalidInputError
        If an operator reads a tensor before it is written, or a tensor is no operator's.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, metadata = to_rows(graph, origin)
    for row in rows:
        row["attributes"] = json.dumps(row["attributes"], sort_keys=True)
    table = pa.Table.from_pylist(rows, schema=_schema()).replace_schema_metadata(
        {METADATA: json.dumps(metadata, sort_keys=True).encode()}
    )
    sink = io.BytesIO()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=19,
        use_dictionary=[column for column in COLUMNS if column != "name"],
        # Names of neighbours begin alike.
        column_encoding={"name": "DELTA_BYTE_ARRAY"},
        row_group_size=2**20,
        write_statistics=False,
    )
    return sink.getvalue()


def load(path: str | Path) -> ComputationGraph:
    """Read a graph.

    Raises
    ------
    InvalidInputError
        If the file is cut off, no such Parquet file, of another version of the format, or does not
        describe a graph.
    """
    path = Path(path)
    content = read_bytes(path)
    with naming(path):
        return from_parquet(content)[0]


def from_parquet(content: bytes) -> tuple[ComputationGraph, GraphOrigin]:
    """Read a graph that `to_parquet` wrote; raises as `load` does."""
    table = _table(content)
    try:
        metadata = _metadata(table)
        columns = {name: table.column(name).to_pylist() for name in COLUMNS}
    except UnicodeDecodeError as error:
        raise InvalidInputError("a text is not UTF-8; expected texts that are.") from error
    columns["attributes"] = [_attributes(text) for text in columns["attributes"]]
    return from_rows(zip(*columns.values(), strict=True), metadata)


def _schema() -> "pa.Schema":
    import pyarrow as pa

    text, whole = pa.string(), pa.int64()
    kinds: dict[str, Any] = {
        **dict.fromkeys(("name", "kind", "op_type", "attributes"), text),
        "flops": whole,
        "reads": pa.list_(pa.int32()),
        "shapes": pa.list_(pa.list_(whole)),
        "dtypes": pa.list_(text),
    }
    return pa.schema([pa.field(name, kinds[name], nullable=False) for name in COLUMNS])


def _table(content: bytes) -> "pa.Table":
    """Return the table of a file with exactly the columns of this format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Read by this thread: others may still let go of a Python object when Python ends.
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InvalidInputError(f"expected a complete Parquet file, found: {reason}.") from error
    if METADATA not in (table.schema.metadata or {}):
        raise InvalidInputError(
            f"the file has no metadata of boundmark; expected a graph, format {FORMAT!r}."
        )
    return table


def _metadata(table: "pa.Table") -> Mapping[str, Any]:
    """Return the file's metadata, checked along with its columns and their types."""
    try:
        metadata = json.loads(table.schema.metadata[METADATA])
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("the metadata of boundmark is not JSON.") from error
    checked = check_metadata(metadata)
    for wanted in _schema():
        position = table.schema.get_field_index(wanted.name)
        if position < 0:
            raise InvalidInputError(f"column {wanted.name} is missing.")
        kind = table.schema.field(position).type
        # Names of the elements of lists differ between writers.
        if not _plain(kind).equals(_plain(wanted.type)):
            raise InvalidInputError(
                f"column {wanted.name} has type {kind}; expected {wanted.type}."
            )
        if any(map(_has_nulls, table.column(wanted.name).chunks)):
            raise InvalidInputError(f"column {wanted.name} has empty cells; expected none.")
    return checked


def _has_nulls(values: "pa.Array") -> bool:
    import pyarrow as pa

    inner = pa.types.is_list(values.type) and _has_nulls(values.flatten())
    return bool(values.null_count) or inner


def _plain(kind: "pa.DataType") -> "pa.DataType":
    import pyarrow as pa

    return pa.list_(_plain(kind.value_type)) if pa.types.is_list(kind) else kind


@cache
def _attributes(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"attributes is {quoted(text)}; expected JSON.") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"attributes is {quoted(text)}; expected an object.")
    return with_tuples(value)
