import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from published_data import published_data

from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.measured_graph import MeasuredGraph
from boundmark.problems.pipeline import PROBLEM as PIPELINE
from boundmark.problems.pipeline import Partition
from boundmark.problems.placement import PROBLEM as PLACEMENT
from boundmark.problems.placement import UNSUPPORTED

PARTITIONING: dict[str, Any] = {
    "maxSizePerFPGA": 100.0,
    "maxFPGAs": 2,
    "maxCPUs": 1,
    "nodes": [
        {"id": 7, "name": "a", "supportedOnFpga": 1, "cpuLatency": 4, "fpgaLatency": 1, "size": 30},
        {"id": 5, "name": "b", "supportedOnFpga": 1, "cpuLatency": 6, "fpgaLatency": 2, "size": 20},
        {"id": 6, "name": "c", "supportedOnFpga": 1, "cpuLatency": 8, "fpgaLatency": 3, "size": 10},
    ],
    "edges": [
        {"sourceId": 7, "destId": 5, "cost": 0.5},
        {"sourceId": 7, "destId": 6, "cost": 0.25},
        {"sourceId": 5, "destId": 6, "cost": 1},
    ],
}


def loaded(document: Any, folder: Path) -> Any:
    """Write a document and read it as a user's file."""
    path = folder / "graph.json"
    path.write_text(json.dumps(document))
    return load_file(path)


def test_dnn_partitioning_by_hand(tmp_path: Path) -> None:
    """Milliseconds become nanoseconds; a tensor takes as long as its dearest edge."""
    graph = loaded(PARTITIONING, tmp_path)
    assert isinstance(graph, MeasuredGraph)
    assert graph.names == ("a", "b", "c")
    assert graph.dag.edge_pairs().tolist() == [[0, 1], [0, 2], [1, 2]]
    stages = PIPELINE.maker(graph)({"k": 2}).graph  # type: ignore[attr-defined]
    assert stages.work.tolist() == [1_000_000, 2_000_000, 3_000_000]
    assert stages.transfer.tolist() == [500_000, 1_000_000, 0]
    assert stages.is_cached
    placed = PLACEMENT.maker(graph)({}).graph  # type: ignore[attr-defined]
    assert placed.device_names == ("accelerator 0", "accelerator 1", "processor 0")
    assert placed.duration.tolist()[1] == [2_000_000, 2_000_000, 6_000_000]
    assert placed.capacity.tolist() == [100, 100, 60]
    assert placed.times[placed.size[0]].tolist()[0] == [0, 500_000, 500_000]


def test_nodes_for_processors_only(tmp_path: Path) -> None:
    """Placement keeps them off accelerators; a pipeline of accelerators cannot have them."""
    document = copy.deepcopy(PARTITIONING)
    document["nodes"][1]["supportedOnFpga"] = 0
    graph = loaded(document, tmp_path)
    placed = PLACEMENT.maker(graph)({}).graph  # type: ignore[attr-defined]
    assert placed.duration.tolist()[1] == [UNSUPPORTED, UNSUPPORTED, 6_000_000]
    with pytest.raises(InvalidInputError, match="node 'b' runs on no accelerator"):
        PIPELINE.maker(graph)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "stages"),
    [
        ("LayerGraphs_resnet50_inference", 177, 193, 177),
        # Of 117 colours and 11 nodes without, one with two tensors that others read.
        ("OperatorGraphs_bert_l-3_inference", 235, 250, 130),
    ],
)
@pytest.mark.parametrize("kind", ["throughput", "latency"])
def test_published_files(kind: str, name: str, nodes: int, edges: int, stages: int) -> None:
    """The published graphs have the published numbers of nodes and edges; colours are one node."""
    graph = load_file(published_data() / "dnn-partitioning" / kind / f"{name}.json")
    assert (graph.dag.nodes, graph.dag.edges) == (nodes, edges)
    placed = PLACEMENT.maker(graph)({})
    assert (placed.nodes, placed.edges) == (nodes, edges)
    if all(graph.on_accelerator):
        assert PIPELINE.maker(graph)({"k": 4}).nodes == stages


def changed(change: Callable[[Any], object]) -> Any:
    """Return a document with something done to it."""
    document = copy.deepcopy(PARTITIONING)
    change(document)
    return document


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (changed(lambda d: d.update(nodes=3)), "nodes is 3; expected a list"),
        (changed(lambda d: d.update(nodes=[], edges=[])), "the graph has no nodes"),
        (changed(lambda d: d["nodes"].append(1)), "entry 3 of nodes is 1"),
        (
            changed(lambda d: d["nodes"][1].pop("fpgaLatency")),
            "node 'b': fpgaLatency is None; expected a number",
        ),
        (
            changed(lambda d: d["nodes"][1].update(fpgaLatency=-1)),
            "fpgaLatency is -1; expected a number from 0",
        ),
        (
            changed(lambda d: d["nodes"][1].update(fpgaLatency=float("nan"))),
            "fpgaLatency is nan; expected a number from 0",
        ),
        (
            changed(lambda d: d["nodes"][1].update(supportedOnFpga="yes")),
            "supportedOnFpga is 'yes'; expected true or false",
        ),
        (changed(lambda d: d["nodes"][1].update(id=7)), "two nodes have the id 7"),
        (changed(lambda d: d["nodes"][1].update(id=[])), "id of node 1 is []"),
        (
            changed(lambda d: d["edges"][0].update(destId=99)),
            "edge 0: destId is 99; expected the id of a node",
        ),
        (
            changed(lambda d: d["edges"][0].update(destId=[7])),
            "destId is [7]; expected the id of a node",
        ),
        (
            changed(lambda d: d["edges"][2].update(sourceId=6, destId=7)),
            "the edges form a cycle",
        ),
        (changed(lambda d: d.update(maxFPGAs=1.5)), "maxFPGAs is 1.5; expected"),
    ],
)
def test_bad_files(document: Any, expected: str, tmp_path: Path) -> None:
    """What is missing or odd is refused with the file, the place and what was expected."""
    with pytest.raises(InvalidInputError) as raised:
        loaded(document, tmp_path)
    assert expected in str(raised.value)
    assert "graph.json" in str(raised.value)


def test_other_json_is_still_an_instance(tmp_path: Path) -> None:
    """What no planner wrote is read as a stored instance, and refused as one."""
    with pytest.raises(InvalidInputError, match="JSON of no known format, with the fields 'nodes'"):
        loaded({"nodes": []}, tmp_path)
    (tmp_path / "cut.json").write_text(json.dumps(PARTITIONING)[:40])
    with pytest.raises(InvalidInputError, match="expected JSON"):
        load_file(tmp_path / "cut.json")


def trained(**nodes: Any) -> dict[str, Any]:
    """Return a chain a, b with its backward pass b', a', colours, and 60 bytes a device."""
    document = copy.deepcopy(PARTITIONING)
    rows = [("a", 0, 1, 1), ("b", 0, 2, 2), ("b'", 1, 2, 4), ("a'", 1, 1, 3)]
    document["nodes"] = [
        {
            "id": at, "name": name, "supportedOnFpga": 1, "cpuLatency": 9, "fpgaLatency": ms,
            "size": 20, "isBackwardNode": back, "colorClass": colour, **nodes,
        }
        for at, (name, back, colour, ms) in enumerate(rows)
    ]  # fmt: skip
    document["edges"] = [
        {"sourceId": u, "destId": w, "cost": cost}
        for u, w, cost in ((0, 1, 0.5), (1, 2, 0.25), (2, 3, 0.75), (0, 3, 0.5))
    ]
    document["maxSizePerFPGA"] = 60
    return document


def test_colours_and_memory_of_dnn_partitioning(tmp_path: Path) -> None:
    """A node has the work of its colour; no stage holds more than a device does."""
    graph = loaded(trained(), tmp_path)
    assert "holds 60 bytes at most; a cost beyond all work" in graph.notes[0]
    make = PIPELINE.maker(graph)
    one = make({"k": 2})
    assert one.parameters == {"k": 2, "phase": "training"}
    assert one.graph.names == ("a", "b")  # type: ignore[attr-defined]
    assert one.graph.work.tolist() == [4_000_000, 6_000_000]  # type: ignore[attr-defined]
    assert one.graph.transfer.tolist() == [1_250_000, 0]  # type: ignore[attr-defined]
    assert one.objective(Partition([0, 1])) == 7_250_000  # type: ignore[arg-type]
    # All four take 80 bytes, and 60 is what a device holds.
    total = 10_000_000 + 2 * 2_000_000
    assert one.objective(Partition([0, 0])) > total  # type: ignore[arg-type]


def test_nodes_of_a_colour_share_a_stage(tmp_path: Path) -> None:
    """Without a backward pass, they are one node."""
    document = copy.deepcopy(PARTITIONING)
    for node in document["nodes"][:2]:
        node["colorClass"] = 10**15
    made = PIPELINE.maker(loaded(document, tmp_path))({"k": 2})
    # Both tensors are read outside, by the same node.
    assert made.graph.names == ("a", "c", "output of a", "output of b")  # type: ignore[attr-defined]
    assert made.objective(Partition([0, 1, 0, 0])) == 4_500_000  # type: ignore[arg-type]


def test_transfers_in_seconds_are_mended(tmp_path: Path) -> None:
    """Bytes at 2 GiB/s in seconds, as in the published layer graphs; a note says so."""
    document = copy.deepcopy(PARTITIONING)
    for edge, size in zip(document["edges"], (2**31, 2**31, 2**30), strict=True):
        edge |= {"size": size, "cost": size / 2**31}
    graph = loaded(document, tmp_path)
    assert graph.transfer.tolist() == [10**9, 5 * 10**8, 0]
    assert "multiplied by 1,000" in graph.notes[0]
    for edge in document["edges"]:
        edge["cost"] *= 1000
    graph = loaded(document, tmp_path)
    assert graph.transfer.tolist() == [10**9, 5 * 10**8, 0]
    assert graph.notes == ()


def test_published_layer_graphs() -> None:
    """Those for throughput are mended, and cost what those for latency do."""
    folder = published_data() / "dnn-partitioning"
    name = "LayerGraphs_resnet50_inference.json"
    mended, meant = (load_file(folder / part / name) for part in ("throughput", "latency"))
    assert any("multiplied by 1,000" in note for note in mended.notes)
    assert not any("multiplied by 1,000" in note for note in meant.notes)
    assert abs(mended.transfer - meant.transfer).max() <= 1
    assert PIPELINE.maker(mended)({"k": 6}).graph.cache > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"colorClass": None}, 'node "b\'" is of the backward pass, and none of the forward'),
        ({"isBackwardNode": 1}, "all nodes are of the backward pass; expected some"),
        ({"isBackwardNode": "x"}, "isBackwardNode is 'x'; expected true or false"),
        ({"colorClass": 1.5}, "colorClass is 1.5; expected a whole number"),
        ({"colorClass": -3}, "colorClass is -3; expected"),
    ],
)
def test_colours_that_are_none(changed: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """A sentence says what was expected."""
    with pytest.raises(InvalidInputError, match=expected):
        PIPELINE.maker(loaded(trained(**changed), tmp_path))({"k": 2})
