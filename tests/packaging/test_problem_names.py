"""Where problems are named: in folders of their own, and in registries."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from boundmark.problems.catalog import PROBLEMS

ROOT = Path(__file__).resolve().parents[2]

# Layers that work from what problems declare.
LAYERS = ("reports",)

# Files that list the problems, and are the only ones of these layers to do so.
REGISTRIES: frozenset[str] = frozenset()

TEXT = (".py", ".j2", ".toml", ".html", ".css", ".md")


def shared_files() -> Iterator[Path]:
    """Yield the files of the layers that belong to no problem."""
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*")):
            name = path.relative_to(ROOT)
            if path.suffix in TEXT and not set(name.with_suffix("").parts) & set(PROBLEMS):
                yield name


@pytest.mark.parametrize("layer", LAYERS)
def test_there_is_something_to_look_at(layer: str) -> None:
    """Of each layer, shared files as well as folders of every problem."""
    assert sum(path.parts[0] == layer for path in shared_files()) > 10
    folders = {path.name for path in (ROOT / layer / "boundmark" / layer).iterdir()}
    assert set(PROBLEMS) <= folders


def test_no_shared_file_names_a_problem() -> None:
    """Neither in code nor in words, so that another problem needs no change there."""
    words = re.compile("|".join(map(re.escape, sorted(PROBLEMS))), re.IGNORECASE)
    named = [
        f"{name}:{number}: {line.strip()}"
        for name in shared_files()
        if str(name) not in REGISTRIES
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), start=1)
        if words.search(line)
    ]
    assert named == []


def test_no_shared_module_names_a_parameter_of_a_problem() -> None:
    """As a string of its own: what instances are made with is known from the results alone."""
    parameters = {item.name for problem in PROBLEMS.values() for item in problem.parameters}
    named = [
        f"{name}:{node.lineno}: {node.value!r}"
        for name in shared_files()
        if name.suffix == ".py" and str(name) not in REGISTRIES
        for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in parameters
    ]
    assert named == []
