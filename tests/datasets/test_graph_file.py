import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphs import small_graph

from boundmark.datasets import onnx_light
from boundmark.datasets.graph_file import GraphOrigin, from_parquet, load, to_parquet
from boundmark.datasets.resolve import load_file
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError

ORIGIN = GraphOrigin("made by hand", {"batch": 2}, {"tool": "1.0"}, 7)


def contents(graph: ComputationGraph) -> dict[str, Any]:
    """Return everything that a graph holds."""
    return {
        "operators": [
            (one.name, one.op_type, one.flops, one.reads, one.writes, dict(one.attributes))
            for one in graph.operators
        ],
        "tensors": [(tensor.shape, tensor.dtype) for tensor in graph.tensors],
        "parameters": graph.parameters,
        "results": graph.results,
        "dtype": graph.dtype,
        "notes": graph.notes,
    }


@pytest.mark.parametrize("name", ["squeezenet", "inception-v1", "shufflenet"])
def test_round_trip(name: str) -> None:
    """A model comes back with every operator, tensor and number; so does its origin."""
    graph = onnx_light.load(name)
    again, origin = from_parquet(to_parquet(graph, ORIGIN))
    assert contents(again) == contents(graph)
    assert origin == ORIGIN
    # Parameters keep their names, on which nothing depends.
    names = {again.tensors[number].name for number in again.parameters}
    assert names == {graph.tensors[number].name for number in graph.parameters}


def test_the_same_graph_gives_the_same_bytes() -> None:
    """A graph made anew can be compared by its file's hash."""
    assert to_parquet(small_graph(), ORIGIN) == to_parquet(small_graph(), ORIGIN)


def test_a_file_is_loaded_by_suffix(tmp_path: Path) -> None:
    """Whoever reads models reads these."""
    path = tmp_path / "own.parquet"
    path.write_bytes(to_parquet(small_graph(), ORIGIN))
    assert contents(load_file(path)) == contents(small_graph())


Rows = list[dict[str, Any]]


def changed(
    rows: Callable[[Rows], object] = lambda rows: None,
    metadata: Callable[[dict[str, Any]], object] = lambda metadata: None,
) -> bytes:
    """Return the small graph's file with something done to its rows or metadata."""
    table = pq.read_table(io.BytesIO(to_parquet(small_graph(), ORIGIN)))
    known = json.loads(table.schema.metadata[b"boundmark"])
    metadata(known)
    listed = table.to_pylist()
    rows(listed)
    schema = pa.schema([field.with_nullable(True) for field in table.schema])
    sink = io.BytesIO()
    again = pa.Table.from_pylist(listed, schema=schema)
    pq.write_table(again.replace_schema_metadata({b"boundmark": json.dumps(known)}), sink)
    return sink.getvalue()


def operator(rows: Rows) -> dict[str, Any]:
    """Return the first row that is an operator's."""
    return next(row for row in rows if row["kind"] == "operator")


WHOLE = to_parquet(small_graph(), ORIGIN)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (WHOLE[:-10], "expected a complete Parquet file"),
        (WHOLE[: len(WHOLE) // 2], "expected a complete Parquet file"),
        (b"PAR1", "expected a complete Parquet file"),
        (b"{}", "expected a complete Parquet file"),
        (
            changed(metadata=lambda m: m.update(format="boundmark-graph/2")),
            "format is 'boundmark-graph/2'; expected 'boundmark-graph/1'; "
            "another version of boundmark wrote it",
        ),
        (changed(metadata=lambda m: m.update(format=[])), "format is []; expected"),
        (changed(metadata=lambda m: m.pop("results")), "results is missing"),
        (changed(metadata=lambda m: m.update(results=["a"])), "results is not a list of tensor"),
        (
            changed(metadata=lambda m: m.update(results=[99])),
            "tensor 99 is a parameter or a result",
        ),
        (changed(metadata=lambda m: m.update(dtype=3)), "dtype is 3; expected a str"),
        (changed(rows=lambda r: r[0].update(kind="other")), "kind is 'other'; expected one of"),
        (changed(rows=lambda r: r[0].update(kind=None)), "column kind has empty cells"),
        (changed(rows=lambda r: r[0].update(shapes=[[2, None]])), "column shapes has empty cells"),
        (changed(rows=lambda r: r[0].update(shapes=[[-2]])), "expected non-negative integers"),
        (changed(rows=lambda r: r[0].update(dtypes=["float31"])), "elements of type 'float31'"),
        (changed(rows=lambda r: r[0].update(dtypes=[])), "1 shapes and 0 dtypes"),
        (changed(rows=lambda r: operator(r).update(flops=-1)), "flops"),
        (changed(rows=lambda r: operator(r).update(reads=[99])), "names tensor 99"),
        (changed(rows=lambda r: operator(r).update(attributes="{")), "attributes is '{'"),
        (changed(rows=lambda r: operator(r).update(attributes="[]")), "expected an object"),
        (changed(rows=lambda r: r.clear()), "the graph has no nodes"),
    ],
)
def test_bad_files(content: bytes, expected: str, tmp_path: Path) -> None:
    """What is cut off, newer or odd is refused with the file's name and what was expected."""
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError) as raised:
        load(path)
    assert expected in str(raised.value)
    assert str(raised.value).startswith(str(path))


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    """A Parquet file that has nothing to do with graphs says so."""
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InvalidInputError, match="no metadata of boundmark"):
        load(path)
    columns = pq.read_table(io.BytesIO(WHOLE))
    pq.write_table(columns.drop_columns(["flops"]), path)
    with pytest.raises(InvalidInputError, match="column flops is missing"):
        load(path)
    at = columns.schema.get_field_index("flops")
    texts = pa.array([str(value) for value in columns["flops"].to_pylist()])
    pq.write_table(columns.set_column(at, "flops", texts), path)
    with pytest.raises(InvalidInputError, match="column flops has type string; expected int64"):
        load(path)
