import pytest
from published_data import published_data

from boundmark.datasets.pipeline.pipedream import DATASET
from boundmark.problems.errors import InvalidInputError, UnknownNameError

SIZES = {
    "alexnet": (23, 23),
    "vgg16": (41, 41),
    "squeezenet1_0": (68, 76),
    "resnet18": (71, 79),
    "resnet50": (177, 193),
    "resnext50": (177, 193),
    "gnmt": (48, 58),
}


@pytest.mark.parametrize("member", DATASET.members())
def test_published_profiles_are_read(member, monkeypatch):
    """Every node and edge of the published files is read, and no parameters overflow."""
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))
    graph = DATASET.load(member)
    assert (graph.dag.nodes, graph.dag.edges) == SIZES[member]
    assert graph.work.sum() > 0
    assert graph.is_cached


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
