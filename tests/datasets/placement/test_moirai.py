import numpy as np
import pytest
from published_data import published_data

from boundmark.datasets.placement.moirai import DATASET
from boundmark.datasets.resolve import load_file
from boundmark.problems.errors import InvalidInputError, UnknownNameError


@pytest.fixture(autouse=True)
def _published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUNDMARK_DATA", str(published_data()))


def test_example_1() -> None:
    """Three devices, integers, and a comment below the table."""
    graph = DATASET.load("example-1")
    assert (graph.nodes, graph.dag.edges, graph.devices) == (14, 19, 3)
    assert graph.duration.sum(axis=0).tolist() == [65, 70, 70]
    assert (graph.memory.sum(), graph.capacity.tolist()) == (44, [14, 14, 16])
    # Task 14 feeds 19 and 23 by two transfers that take different times.
    v = graph.names.index("14")
    written = np.flatnonzero(graph.producer == v).tolist()
    moved = {
        graph.names[graph.consumers[t][0]]: graph.times[graph.size[t]].tolist() for t in written
    }
    assert moved == {
        "19": [[0, 1, 2], [1, 0, 4], [2, 4, 0]],
        "23": [[0, 3, 2], [3, 0, 3], [2, 3, 0]],
    }


def test_googlenet() -> None:
    """Four devices; five decimals become ticks; links are not symmetric."""
    graph = DATASET.load("googlenet")
    assert (graph.nodes, graph.dag.edges, graph.devices) == (141, 167, 4)
    assert graph.duration.sum(axis=0).tolist() == [233_600, 547_600, 554_700, 288_400]
    first = graph.times[graph.size[graph.producer.tolist().index(graph.names.index("1"))]]
    assert first[0].tolist() == [0, 25_926, 68_188, 25_506]
    assert first[:, 0].tolist() == [0, 28_772, 65_536, 29_308]
    # One tensor for the four branches of an inception module.
    v = graph.names.index("15")
    assert [len(r) for p, r in zip(graph.producer, graph.consumers, strict=True) if p == v] == [4]
    # Their cells hold a number for each consumer. Without these numbers, the optimum is less.
    shared = [t for t, readers in enumerate(graph.consumers) if len(readers) == 4]
    times = graph.times[graph.size[shared]]
    assert times.shape == (9, 4, 4)
    assert (times[:, ~np.eye(4, dtype=bool)] > 0).all()


def test_a_sheet_is_read_by_path() -> None:
    """As any model file is, by its suffix."""
    graph = load_file(published_data() / "moirai" / "GoogLeNet.xls")
    assert graph.duration.tolist() == DATASET.load("googlenet").duration.tolist()


def test_missing_files_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the files, the error says how to name their folder."""
    monkeypatch.delenv("BOUNDMARK_DATA")
    with pytest.raises(
        InvalidInputError, match=r"example-1\.xls does not come with .* BOUNDMARK_D"
    ):
        DATASET.load("example-1")


def test_other_names_are_unknown() -> None:
    """Other sheets are files, not members."""
    with pytest.raises(UnknownNameError, match="graph 'example-2' in moirai; did you mean"):
        DATASET.load("example-2")
