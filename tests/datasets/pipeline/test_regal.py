"""Published graphs in a folder that the user has; these files are ours, in the same format."""

from pathlib import Path

import pytest

from boundmark.datasets.pipeline import regal
from boundmark.datasets.resolve import VARIABLE
from boundmark.problems.errors import InvalidInputError, MissingFileError, UnknownNameError

GRAPH = """
node { name: "_SOURCE" }
node { name: "a" id: 1 output_info { size: 61 alias_input_port: -1 } control_input: 0 compute_cost: 44 }
node { name: "b" id: 2 input_info { preceding_node: 1 } output_info { size: 38 } compute_cost: 57 }
"""  # noqa: E501


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of graphs that the environment variable leads to."""
    folder = tmp_path / "regal"
    (folder / "test").mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return folder


def test_graphs_are_read(folder: Path) -> None:
    """Members are the files, wherever in the folder they are; costs and sizes are theirs."""
    (folder / "test" / "graph_ab12.pbtxt").write_text(GRAPH)
    (folder / "graph_cd34.pbtxt").write_text(GRAPH.replace("44", "45"))
    (folder / "README.md").write_text("not a graph")
    assert regal.members() == ("graph_cd34", "test/graph_ab12")
    graph = regal.load("test/graph_ab12")
    assert graph.work.tolist() == [44, 57]
    assert graph.transfer.tolist() == [61, 38]
    assert graph.dag.edge_pairs().tolist() == [[0, 1]]
    assert regal.load("graph_cd34").work.tolist() == [45, 57]


def test_nothing_is_listed_without_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No variable and no folder both mean no members, and errors that say what to do."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert regal.members() == ()
    with pytest.raises(MissingFileError, match=f"expected {VARIABLE} to name"):
        regal.load("graph_ab12")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert regal.members() == ()
    with pytest.raises(MissingFileError, match="does not exist"):
        regal.load("graph_ab12")


@pytest.mark.parametrize("member", ["", "../secret", "/etc/graph", "test/../../graph"])
def test_names_that_lead_out_of_the_folder(folder: Path, member: str) -> None:
    """They are no members."""
    with pytest.raises(UnknownNameError, match="expected the name of a file"):
        regal.load(member)


def test_a_damaged_file(folder: Path) -> None:
    """The error names the file."""
    (folder / "graph_cut.pbtxt").write_text(GRAPH[:-20])
    with pytest.raises(InvalidInputError, match=r"graph_cut\.pbtxt"):
        regal.load("graph_cut")
