"""docs/extending.md: what it shows runs, and names files and modules that are there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from brute_force import instance

import boundmark
from boundmark.benchmarks.solving.own_method import find_method
from boundmark.problems.errors import InvalidInputError, UnknownNameError
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition
from boundmark.reports.problem_report import ProblemReport

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/extending.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run_block(words: str) -> dict[str, Any]:
    """Run the page's block that has these words, and return what it defines."""
    (block,) = [block for block in BLOCKS if words in block]
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "block of extending.md", "exec"), names)
    return names


def test_the_method_runs() -> None:
    """It reports the trivial partition, whose cost is all work."""
    found: list[Partition] = []

    class Recorder:
        """Takes solutions."""

        def solution(self, solution: Any) -> None:
            """Keep it."""
            found.append(solution)

        def bound(self, bound: Any) -> None:
            """Refuse it: a heuristic reports none."""
            raise AssertionError(bound)

    sample = instance([5, 2, 1], [(0, 1), (1, 2)], 2)
    run_block('name="one-stage"')["METHOD"].run(sample, Budget(1.0), 1, Recorder())
    assert [sample.objective(one) for one in found] == [8]


def test_the_file_is_a_method(tmp_path: Path) -> None:
    """Whose solution is a valid one; the page has the whole file."""
    (block,) = [block for block in BLOCKS if "as a method in one file" in block]
    path = tmp_path / "my.py"
    path.write_text(block)
    found: list[Any] = []
    method = find_method(str(path), {}, "pipeline")
    sample = instance([5, 2, 1, 1], [(0, 1), (1, 2), (2, 3)], 2)
    method.run(sample, Budget(1.0), 1, SimpleNamespace(solution=found.append))
    assert [sample.objective(one) for one in found] == [8]


def test_the_data_set_loads() -> None:
    """Each member is a graph of which instances can be made, and an unknown one is refused."""
    dataset = run_block('name="my-models"')["DATASET"]
    assert dataset.members() == ("small", "large")
    work = []
    for member in dataset.members():
        graph = dataset.load(member)
        assert isinstance(graph, dataset.source)
        made = boundmark.load(graph)
        answer = boundmark.solve(made, "pipeline", k=2, seconds=5, quiet=True, library=False)
        assert answer.cost == answer.bound
        work.append(answer.cost)
    assert work[0] < work[1]
    with pytest.raises(UnknownNameError, match="there is no model 'larg'; did you mean large"):
        dataset.load("larg")


def test_the_reader_reads(tmp_path: Path) -> None:
    """Its graph is solved; what is no such file is refused with the file and what is wrong."""
    reader = run_block('FileFormat("perceptron"')["FORMAT"]
    path = tmp_path / "net.mlp"
    path.write_text("784 512\n10")
    graph = reader.load(path)
    assert graph.flops.tolist() == [2 * 784 * 512, 2 * 512 * 10]
    assert graph.dag.edge_pairs().tolist() == [[0, 1]]
    assert graph.parameter_count == 784 * 512 + 512 * 10
    answer = boundmark.solve(boundmark.load(graph), "pipeline", k=2, quiet=True, library=False)
    assert answer.cost == answer.bound
    for text, expected in (("784 x", "width 'x'"), ("1 0", "width '0'"), ("7", "are 1 widths")):
        path.write_text(text)
        with pytest.raises(
            InvalidInputError, match=rf"net\.mlp: there (is the|{expected})"
        ) as told:
            reader.load(path)
        assert expected in str(told.value)


def test_the_report_has_its_section() -> None:
    """A table of the largest instance of each data set, beside a plot of the same data."""
    names = run_block("Largest instance of each data set")
    assert isinstance(names["REPORT"], ProblemReport)
    sizes = pd.DataFrame({"dataset": ["a", "b"], "nodes": [1200, 7]})
    section = names["section"](None, {"largest": sizes})
    assert [[cell.text for cell in row] for row in section.tables[0].groups[0].rows] == [
        ["a", "1,200"],
        ["b", "7"],
    ]


def test_files_that_are_named_exist() -> None:
    """Each path from the root of the repository leads somewhere."""
    named = re.findall(
        r"`((?:problems|datasets|bounds|reports|benchmarks|tests|docs)/[\w./-]+)`", PAGE
    )
    files = {name for name in named if "NAME" not in name}
    assert len(files) > 10
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []
