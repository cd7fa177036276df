import json

import onnx
import pytest
from onnx import TensorProto, helper
from published_data import published_data

from boundmark.datasets.resolve import load_file, load_member, load_source
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.pipeline import PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph

# Data sets whose files the user has to provide.
PUBLISHED = {"moirai", "pipedream", "regal"}


def test_own_data_sets_are_registered():
    """The data sets are found through their entry points."""
    assert {"onnx-light", "pipedream", "regal-style"} <= set(datasets())


def test_members_are_found_by_name():
    """The first part names the data set and the second the graph; unlisted seeds load, too."""
    assert isinstance(load_member("onnx-light/squeezenet"), ComputationGraph)
    assert isinstance(load_member("regal-style/watts-strogatz-123456-plain"), PipelineGraph)


@pytest.mark.parametrize("dataset", datasets().values(), ids=lambda dataset: dataset.name)
def test_every_data_set_loads_its_first_member(dataset, monkeypatch):
    """Whatever is registered can be loaded, and some problem is about it."""
    if dataset.name in PUBLISHED:
        monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    if not dataset.members():
        pytest.skip("the user has no file of it")
    source = load_member(f"{dataset.name}/{dataset.members()[0]}")
    assert any(isinstance(source, problem.sources) for problem in problems().values())


def test_sources_are_files_or_members(tmp_path):
    """What has the form of a file is read as one, everything else is a name."""
    path = tmp_path / "graph.pbtxt"
    path.write_text('node { name: "a" compute_cost: 3 }')
    assert load_source(str(path)).work.tolist() == [3]
    assert load_source("regal-style/erdos-renyi-1").dag.nodes >= 50
    with pytest.raises(InvalidInputError, match=r"missing\.onnx does not exist"):
        load_source(str(tmp_path / "missing.onnx"))
    with pytest.raises(InvalidInputError, match="is a directory; expected a file"):
        load_source(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("onnx-lite/resnet50", "there is no data set 'onnx-lite'; did you mean onnx-light"),
        ("onnx-light/resnet5", "there is no graph 'resnet5' in onnx-light; did you mean resnet50"),
        ("regal-style/erdos-reny-1", "did you mean erdos-renyi"),
        (
            "resnet49",
            "there is no graph 'resnet49'; expected DATASET/GRAPH, e.g. zoo/bert-base",
        ),
        ("squeezenet", "there is no graph 'squeezenet'; did you mean onnx-light/squeezenet."),
        ("onnx-light/", "'onnx-light' is a data set; expected one of its graphs, which `boundmark"),
        ("onnx-light", "'onnx-light' is a data set; expected one of its graphs, which `boundmark"),
    ],
)
def test_unknown_names_are_explained(name, expected):
    """Near matches are suggested for data sets and for graphs."""
    with pytest.raises(UnknownNameError, match=expected):
        load_member(name)


INSTANCE = {
    "format": "boundmark-instance/1",
    "problem": "pipeline",
    "k": 2,
    "work": [3, 4],
    "transfer": [1, 0],
    "param_load": [5, 6],
    "cache": 7,
    "edges": [[0, 1]],
}


@pytest.mark.parametrize("name", ["graph.pbtxt", "graph.txt", "GRAPH.PBTXT"])
def test_cost_graphs_are_told_by_suffix(tmp_path, name):
    """CostGraphDef texts end in .pbtxt or .txt, in either case."""
    (tmp_path / name).write_text('node { name: "a" compute_cost: 3 }')
    graph = load_file(tmp_path / name)
    assert isinstance(graph, PipelineGraph)
    assert graph.work.tolist() == [3]


def test_onnx_files_are_told_by_suffix(tmp_path):
    """Models end in .onnx; the path may be a string."""
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "g", *([t] for t in tensors))),
        tmp_path / "m.onnx",
    )
    assert isinstance(load_file(str(tmp_path / "m.onnx")), ComputationGraph)


def test_stored_instances_are_read_back(tmp_path):
    """An instance survives being stored."""
    path = tmp_path / "instance.json"
    dag = Dag.from_edges(3, [(0, 1), (0, 2)])
    graph = PipelineGraph(dag, [3, 4, 5], [1, 0, 2], [5, 6, 0], 7, ("a", "b", "c"))
    instance = PipelineInstance(graph, 4)
    path.write_text(canonical_json(instance.to_json()))
    assert load_file(path).sha256 == instance.sha256


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("graph.onnx", None, "does not exist; expected a file"),
        ("graph.pbtxt", None, "does not exist; expected a file"),
        ("graph.json", None, "does not exist; expected a file"),
        (
            "graph.tsv",
            b"a,b",
            "has the suffix '.tsv'; expected one of .csv, .gguf, .json, .onnx, .pbtxt, "
            ".pt2, .txt, .xls, .xml",
        ),
        (
            "graph",
            b"a,b",
            "has the suffix ''; expected one of .csv, .gguf, .json, .onnx, .pbtxt, "
            ".pt2, .txt, .xls, .xml",
        ),
        (
            "m.tflite",
            b"a",
            "'.tflite', a model of TensorFlow Lite; expected the model as .onnx, to",
        ),
        (
            "m.pth",
            b"a",
            "weights of PyTorch, often a pickle; expected the model as .pt2, which tor",
        ),
        ("graph.onnx", b"", "is empty; expected a file with a graph"),
        ("graph.pbtxt", b"", "is empty; expected a file with a graph"),
        ("graph.json", b"", "is empty; expected a model"),
        ("graph.onnx", b"not a model", "expected a complete ONNX model"),
        ("graph.onnx", b"\x08\x07", "graph is missing; expected a complete ONNX model"),
        ("graph.pbtxt", b'node { name: "a', "expected a complete CostGraphDef as text, found 1:"),
        ("graph.json", b'{"format": ', "expected JSON; line 1, column 12: Expecting value"),
        ("graph.json", b"\xff\xff", "expected JSON; "),
        ("graph.json", b"[1, 2]", r"expected an object, found \[1, 2\]"),
        ("graph.json", b'{"a":' + b"[" * 100_000, "the JSON is nested too deeply to be read"),
        ("graph.json", b"{}", "it is JSON of no known format, with the fields none; exp"),
        ("graph.json", b'{"problem": "pipeline"}', "format is None; expected"),
        (
            "graph.json",
            {"work": [1, -4]},
            "work of node '1' is -4; expected a non-negative integer",
        ),
        (
            "graph.json",
            {"work": [1, 0.5]},
            "work of node '1' is 0.5; expected a non-negative integer",
        ),
        ("graph.json", {"edges": [[0, 2]]}, r"edge \[0, 2\] names an unknown node"),
        ("graph.json", {"edges": [[0, 1], [1, 0]]}, "the edges form a cycle"),
        (
            "graph.json",
            {"work": [], "transfer": [], "param_load": [], "edges": []},
            "the graph has no nodes; expected at least one",
        ),
    ],
)
def test_unusable_files_are_refused(tmp_path, name, content, expected):
    """Each mistake ends in one sentence that names the file."""
    path = tmp_path / name
    if isinstance(content, dict):
        content = json.dumps(INSTANCE | content).encode()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=expected) as caught:
        load_file(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("adapter_config.json", r"an adapter \(LoRA\); expected the folder of its base model"),
        ("model_index.json", "several models of diffusers; expected one of them"),
        ("params.json", "weights in Meta's or Mistral's form; expected the config.json"),
        ("saved_model.pb", "a model of TensorFlow; expected the model as .onnx"),
        ("b.onnx", "is a directory; expected a file in it, such as b.onnx"),
        ("c.txt", "is a directory; expected a file, or a folder with config.json"),
    ],
)
def test_other_folders_are_named(tmp_path, name, expected):
    """A folder as it is downloaded, and what can be read instead."""
    (tmp_path / name).write_text("{}")
    with pytest.raises(InvalidInputError, match=expected):
        load_file(tmp_path)


def test_folders_are_refused(tmp_path):
    """A folder with a graph's suffix is not a graph."""
    path = tmp_path / "folder.onnx"
    path.mkdir()
    with pytest.raises(InvalidInputError, match="is a directory; expected a file"):
        load_file(path)
