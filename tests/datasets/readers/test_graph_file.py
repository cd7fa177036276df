"""Graphs in files of our own, Parquet and JSON: they come back the same; what is odd is refused."""

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
from boundmark.datasets.readers.graph_file import (
    GraphOrigin,
    from_parquet,
    load,
    load_with_origin,
    to_json,
    to_parquet,
)
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


@pytest.mark.parametrize("name", ["squeezenet", "inception-v1", "shufflenet"])
def test_json_comes_back_as_parquet_does(name: str, tmp_path: Path) -> None:
    """A model comes back the same to the byte by JSON or Parquet, and so does its origin."""
    graph = onnx_light.load(name)
    path = tmp_path / "own.json"
    path.write_text(to_json(graph, ORIGIN))
    again, origin = load_with_origin(path)
    assert origin == ORIGIN
    assert to_json(again, origin) == path.read_text()
    assert to_parquet(again, origin) == to_parquet(graph, ORIGIN)
    assert to_json(*from_parquet(to_parquet(graph, ORIGIN))) == path.read_text()
    assert isinstance(load_file(path), ComputationGraph)


def _changed(change: Callable[[Any], object]) -> str:
    value = json.loads(to_json(small_graph(), ORIGIN))
    change(value)
    return json.dumps(value)


def _operator(value: Any) -> Any:
    return next(row for row in value["rows"] if row["kind"] == "operator")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (to_json(small_graph(), ORIGIN)[:-20], "expected"),
        (_changed(lambda v: v.update(format="boundmark-graph/2")), "another version of boundmark"),
        (_changed(lambda v: v.update(rows={})), "rows is {}; expected a list"),
        (_changed(lambda v: v["rows"].append(3)), "of rows is 3; expected an object"),
        (_changed(lambda v: v["rows"].clear()), "the graph has no nodes"),
        (_changed(lambda v: v.pop("results")), "results is missing"),
        (_changed(lambda v: v["rows"][0].pop("name")), "entry 0 of rows: name is missing"),
        (_changed(lambda v: v["rows"][0].update(name=3)), "name is 3; expected a text"),
        (_changed(lambda v: v["rows"][0].update(kind="x")), "kind is 'x'; expected one of"),
        (
            _changed(lambda v: v["rows"][0].update(shapes=[["2"]])),
            "expected a list of lists of",
        ),
        (_changed(lambda v: v["rows"][0].update(shapes=[[-2]])), "expected non-negative integers"),
        (_changed(lambda v: v["rows"][0].update(dtypes=[1])), "dtypes is [1]; expected a list of"),
        (_changed(lambda v: _operator(v).update(flops=0.5)), "flops is 0.5; expected an integer"),
        (_changed(lambda v: _operator(v).update(flops=2**64)), "expected an integer of 64 bits"),
        (_changed(lambda v: _operator(v).update(flops=True)), "flops is True; expected an integer"),
        (_changed(lambda v: _operator(v).update(flops=-1)), "flops"),
        (_changed(lambda v: _operator(v).update(reads=[99])), "names tensor 99"),
        (_changed(lambda v: _operator(v).update(reads="0")), "reads is '0'; expected a list"),
        (
            _changed(lambda v: _operator(v).update(attributes=[])),
            "attributes is []; expected an ob",
        ),
    ],
)
def test_bad_json(content: str, expected: str, tmp_path: Path) -> None:
    """The error names the file, the row and what was expected."""
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError) as raised:
        load_with_origin(path)
    assert expected in str(raised.value)
    assert str(raised.value).startswith(str(path))
