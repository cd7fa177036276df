"""A method of another package may have any visible characters in its name."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from command_line import Boundmark, boundmark_with
from plugin_packages import install

NAME = "a$b_c|d<e>&%#"
IN_HTML = "a$b_c|d&lt;e&gt;&amp;%#"
IN_MARKDOWN = r"a$b\_c\|d&lt;e&gt;&amp;%\#"
IN_LATEX = r"a\$b\_c\textbar{}d\textless{}e\textgreater{}\&\%\#"

CODE = f"""
from boundmark.problems.catalog import methods
from boundmark.problems.method import Method

def run(instance, budget, seed, progress):
    methods()["slicegraph"].run(instance, budget, seed, progress)

METHOD = Method({NAME!r}, "pipeline", "heuristic", "Slices, by another name.", run=run)
"""

SUITE = f"""
description = "Two methods that find the same."
problem = "pipeline"
time_limit_seconds = 10
memory_limit_gib = 1
methods = ["max-work", "uniform", {json.dumps(NAME)}]

[[instances]]
dataset = "onnx-light"
members = ["squeezenet", "alexnet"]
k = [2, 4]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package, and with the results of a run and their report."""
    folder = tmp_path_factory.mktemp("named")
    install(folder, "named", {"boundmark.methods": {"it": "named:METHOD"}}, CODE)
    (folder / "named.toml").write_text(SUITE)
    boundmark = boundmark_with(folder)
    ran = boundmark("run", folder / "named.toml", "--out", folder / "out", "--quiet")
    assert "12 run (12 ok)" in ran.stdout
    boundmark("report", folder / "out", "--format", "html,md,latex")
    return folder


@pytest.fixture(scope="module")
def boundmark(folder: Path) -> Boundmark:
    """Return the command line beside the package."""
    return boundmark_with(folder)


@pytest.mark.slow
def test_pages_name_it(folder: Path) -> None:
    """With the characters that a format reserves written as it wants them."""
    out = folder / "out"
    latex = "".join(path.read_text() for path in out.rglob("*.tex"))
    assert IN_HTML in (out / "report.html").read_text()
    assert IN_MARKDOWN in (out / "report.md").read_text()
    assert IN_LATEX in latex
    # Comments hold anything.
    assert not any(NAME in line for line in latex.splitlines() if not line.startswith("%"))


@pytest.mark.slow
def test_plots_name_it(folder: Path) -> None:
    """Among their texts and hints, as it is."""
    texts = [
        element.text
        for path in (folder / "out" / "plots").rglob("*.svg")
        for element in ET.parse(path).iter()
        if element.text
    ]
    assert NAME in texts
    assert not any(r"\$" in text for text in texts)


@pytest.mark.slow
def test_comparisons_name_it(folder: Path, boundmark: Boundmark) -> None:
    """A run is no worse than itself, whatever its methods are called."""
    done = boundmark("compare", folder / "out", folder / "out")
    assert done.returncode == 0
