"""Only a problem's own folders name it: what serves all problems works from what they declare."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from boundmark.problems.catalog import problems

ROOT = Path(__file__).resolve().parents[2]

# What is looked at, but for folders and files named after a problem.
LAYERS = ("problems", "datasets", "heuristics", "bounds", "reports", "benchmarks")

# The checker has to know its problems without entry points, because it runs on its own; `plan` is a
# command and a function for language models only.
EXCEPTIONS = {"bounds/checker/registry.py", "benchmarks/plan.py", "benchmarks/cli/plan.py"}

# Of a problem that is called by a word of every model's, only modules and classes are mentions.
WORDS = {"layers": r"boundmark\.\w+\.layers(?![a-z])|Layers(?=Instance)"}

# Lies in a layer's folder, but not in the package.
MICRO_BENCHMARKS = Path("benchmarks", "micro")


def shared_files(layer: str) -> Iterator[Path]:
    """Yield the files of a layer that are no problem's, and in no problem's folder."""
    for path in sorted((ROOT / layer).rglob("*.py")):
        inside = path.relative_to(ROOT)
        if inside.is_relative_to(MICRO_BENCHMARKS) or str(inside) in EXCEPTIONS:
            continue
        if not set(problems()) & set(inside.with_suffix("").parts):
            yield path


def mentions(text: str) -> list[str]:
    """Return the names of problems in a text, as words or parts of identifiers."""
    found = []
    for name in problems():
        word, title = name.replace("-", "_"), name.title().replace("-", "")
        pattern = rf"(?<![A-Za-z])(?:{name}|{word})(?![a-z])|{title}(?=[A-Z])"
        found += re.findall(WORDS.get(name, pattern), text)
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_shared_code_names_no_problem(layer: str) -> None:
    """So that another problem is a folder in each layer and a line in each registry."""
    files = list(shared_files(layer))
    assert files
    found = {str(path.relative_to(ROOT)): mentions(path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "is_mention"),
    [
        ('if problem == "pipeline":', True),
        ("from boundmark.problems.microbatch import Block", True),
        ("def from_pipeline():", True),
        ("class PipelineInstance:", True),
        ("list[MicrobatchInstance]", True),
        ("from boundmark.problems.layers import LayersInstance", True),
        ('graph["layers"] = count(layers)', False),
        ("pipelines of processes, pipelined, PipeDream, Pipeline Parallelism", False),
    ],
)
def test_what_counts_as_a_name(text: str, is_mention: bool) -> None:
    """Identifiers do, the English plural and titles of papers do not."""
    assert bool(mentions(text)) == is_mention


def test_reports_name_no_parameter() -> None:
    """As a string of its own: what instances are made with, reports know from results alone."""
    parameters = {item.name for problem in problems().values() for item in problem.parameters}
    # What results ran on is called so, too, and so are costs that were measured.
    parameters -= {"devices", "measured"}
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for path in shared_files("reports")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in parameters
    ]
    assert named == []
