import pytest
from published_data import published_data

from boundmark.datasets.resolve import load_member, load_source
from boundmark.problems.catalog import datasets, problems
from boundmark.problems.computation_graph import ComputationGraph
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.pipeline.graph import PipelineGraph

# Data sets whose files the user has to provide.
PUBLISHED = {"moirai", "pipedream"}


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
    with pytest.raises(InvalidInputError, match="has the suffix ''"):
        load_source(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("onnx-lite/resnet50", "there is no data set 'onnx-lite'; did you mean onnx-light"),
        ("onnx-light/resnet5", "there is no graph in onnx-light 'resnet5'; did you mean resnet50"),
        ("regal-style/erdos-reny-1", "did you mean erdos-renyi"),
        (
            "resnet50",
            "there is no graph 'resnet50'; expected DATASET/GRAPH, e.g. onnx-light/resnet50",
        ),
        ("onnx-light/", "'onnx-light' is a data set; expected one of its graphs, which `boundmark"),
        ("onnx-light", "'onnx-light' is a data set; expected one of its graphs, which `boundmark"),
    ],
)
def test_unknown_names_are_explained(name, expected):
    """Near matches are suggested for data sets and for graphs."""
    with pytest.raises(UnknownNameError, match=expected):
        load_member(name)
