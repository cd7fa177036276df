"""docs/first-minutes.md: its files, taken out of the page, give the figures on the page."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from boundmark.benchmarks.solving.grading import solution_in
from boundmark.benchmarks.solving.model import choose

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "first-minutes.md").read_text()


def block(language: str) -> str:
    """Return the page's block of a language."""
    found = re.search(rf"```{language} \S+\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Model, device and partition of the page cost what the page says."""
    monkeypatch.chdir(tmp_path)
    script = DOCS / "examples" / "own_transformer.py"
    subprocess.run([sys.executable, script, "own.onnx"], check=True)
    Path("mine.toml").write_text(block("toml"))
    Path("make.py").write_text(block("python"))
    runpy.run_path("make.py")
    chosen = choose("own.onnx", {}, device="mine.toml", dims={"seq": 128})
    given = solution_in(Path("own.csv"), chosen)
    assert given.source.instance.parameters == {"k": 4}
    assert f"cost             {given.objective:,} ns (by given, verified)" in PAGE
