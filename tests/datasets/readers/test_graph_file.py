"""Graphs in files of our own come back the same; what is odd is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graphs import small_graph

from boundmark.datasets import onnx_light
from boundmark.datasets.readers.graph_file import GraphOrigin, from_json, load, to_json
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
    """A model comes back with every operator and number, to the byte; so does its origin."""
    graph = onnx_light.load(name)
    text = to_json(graph, ORIGIN)
    again, origin = from_json(text.encode())
    assert contents(again) == contents(graph)
    assert origin == ORIGIN
    assert to_json(again, origin) == text
    # Parameters keep their names, on which nothing depends.
    names = {again.tensors[number].name for number in again.parameters}
    assert names == {graph.tensors[number].name for number in graph.parameters}


def test_a_file_is_recognised(tmp_path: Path) -> None:
    """Whoever reads models reads these."""
    path = tmp_path / "own.json"
    path.write_text(to_json(small_graph(), ORIGIN))
    assert contents(load_file(path)) == contents(small_graph())


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
        (_changed(lambda v: v.update(format=[])), "format is []; expected"),
        (_changed(lambda v: v.update(results=["a"])), "results is not a list of tensor"),
        (_changed(lambda v: v.update(results=[99])), "tensor 99 is a parameter or a result"),
        (_changed(lambda v: v.update(dtype=3)), "dtype is 3; expected a str"),
        (_changed(lambda v: v["rows"][0].update(dtypes=["float31"])), "elements of type 'float31'"),
        (_changed(lambda v: v["rows"][0].update(dtypes=[])), "1 shapes and 0 dtypes"),
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
        load(path)
    assert expected in str(raised.value)
    assert str(raised.value).startswith(str(path))
