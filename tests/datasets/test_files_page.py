"""docs/files.md: examples of formats, taken out of the page, are read."""

import re
from pathlib import Path

import pytest

from boundmark.datasets.resolve import load_file
from boundmark.problems.pipeline.costs import pipeline_graph_of

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
EXAMPLES = re.findall(r"```(?:text|json)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    ("example", "suffix", "work", "transfer"),
    [
        (EXAMPLES[0], ".pbtxt", [20, 35], [4, 0]),
        # Milliseconds; 65,536 bytes at 12 GB/s, and nobody reads the second output.
        (EXAMPLES[1], ".txt", [1_250_000, 750_000], [5461, 0]),
        (EXAMPLES[2], ".json", [1_250_000, 750_000], [250_000, 0]),
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
