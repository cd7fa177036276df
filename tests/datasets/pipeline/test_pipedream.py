import pytest
from published_data import published_data

from boundmark.datasets.pipeline.pipedream import DATASET
from boundmark.problems.errors import InvalidInputError, UnknownNameError

SIZES = {
    "alexnet": (22, 22),
    "vgg16": (40, 40),
    "squeezenet1_0": (67, 75),
    "resnet18": (70, 78),
    "resnet50": (176, 192),
    "resnext50": (176, 192),
    "gnmt": (45, 54),
}


@pytest.mark.parametrize("member", DATASET.members())
def test_published_profiles_are_read(member, monkeypatch):
    """Every operator and edge of the published files is read, and no parameters overflow."""
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    graph = DATASET.load(member)
    assert (graph.dag.nodes, graph.dag.edges) == SIZES[member]
    assert graph.work.sum() > 0
    assert graph.is_cached
    assert "left out, as PipeDream's planner does" in graph.notes[0]


def test_known_values(monkeypatch):
    """Some numbers of the published AlexNet and GNMT, worked out by hand."""
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    alexnet = DATASET.load("alexnet")
    v = alexnet.names.index("node10 Conv2d")
    assert alexnet.work[v] == 4_423_000
    assert alexnet.transfer[v] == 3_691_861  # 44,302,336 bytes / 12 GB/s
    assert alexnet.param_load[v] == 294_997  # 3,539,968 bytes / 12 GB/s
    gnmt = DATASET.load("gnmt")
    assert gnmt.transfer[gnmt.names.index("node7 LSTM")] == 546_133  # 6,553,600 bytes / 12 GB/s


def test_missing_files_are_explained(monkeypatch, tmp_path):
    """Without the files, the error says how to name their folder."""
    monkeypatch.delenv("BOUNDMARK_DATA", raising=False)
    with pytest.raises(InvalidInputError, match=r"alexnet\.txt does not come with .* BOUNDMARK_DA"):
        DATASET.load("alexnet")
    monkeypatch.setenv("BOUNDMARK_DATA", str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"alexnet\.txt does not exist; expected BOUNDMARK"):
        DATASET.load("alexnet")


def test_other_names_are_unknown():
    """A profile that is not published is a file, not a member."""
    with pytest.raises(UnknownNameError, match="graph 'resnet5' in pipedream; did you mean"):
        DATASET.load("resnet5")
