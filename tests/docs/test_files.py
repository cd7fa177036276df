"""docs/files.md: examples of formats, taken out of the page, are read."""

import re
from pathlib import Path

import pytest

from boundmark.datasets.resolve import load_file
from boundmark.problems.layers import PROBLEM, LayersInstance
from boundmark.problems.pipeline.costs import pipeline_graph_of

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
EXAMPLES = re.findall(r"```(?:text|json)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    ("example", "suffix", "work", "transfer"),
    [
        (EXAMPLES[1], ".pbtxt", [20, 35], [4, 0]),
        # Milliseconds of both passes; twice 65,536 bytes at 12 GB/s, and nobody reads the second
        # output.
        (EXAMPLES[2], ".txt", [3_750_000, 2_250_000], [10_922, 0]),
        (EXAMPLES[3], ".json", [1_250_000, 750_000], [250_000, 0]),
    ],
)
def test_examples_are_read(
    tmp_path: Path, example: str, suffix: str, work: list[int], transfer: list[int]
) -> None:
    """With the costs that the page states."""
    path = tmp_path / f"model{suffix}"
    path.write_text(example)
    graph = pipeline_graph_of(load_file(path))
    assert graph.work.tolist() == work
    assert graph.transfer.tolist() == transfer
    assert (graph.dag.nodes, graph.dag.edges) == (2, 1)


def test_the_table_of_layers_is_read(tmp_path: Path) -> None:
    """On two devices, with memory for the caches of both micro-batches in flight."""
    path = tmp_path / "layers.csv"
    path.write_text(EXAMPLES[0])
    sample = PROBLEM.maker(load_file(path))({"devices": "2xT4"})
    assert isinstance(sample, LayersInstance)
    assert sample.chain.names == ("embed", "block0", "block1", "head")
    assert sample.chain.memory(1, 3, 2) == 2 * 436224000 + 4 * 16777216
