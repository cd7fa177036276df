"""Whether kernels are compiled, for a line that says so."""

import importlib.metadata
import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from boundmark.benchmarks.running import kernels


def test_marked_until_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates matter to old numbas only; other sources, another numba and a lost cache to all."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernels.importlib.metadata, "version", lambda name: "0.68.0")
    (tmp_path / "searches").mkdir()
    source = tmp_path / "searches" / "one.py"
    for path in (tmp_path / "__init__.py", source):
        path.write_text("")
    point = importlib.metadata.EntryPoint("x", "boundmark.methods_of_a_test:M", "boundmark.methods")
    monkeypatch.setattr(kernels, "entry_points_of", lambda group: [point])

    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: Spec)
    assert not kernels.are_compiled()
    kernels.mark_compiled()
    assert kernels.are_compiled()
    os.utime(source, (2**31, 2**31))
    assert kernels.are_compiled()
    source.write_text("KERNEL = 1")
    assert not kernels.are_compiled()
    kernels.mark_compiled()
    assert kernels.are_compiled()
    with monkeypatch.context() as patch:
        patch.setattr(kernels.importlib.metadata, "version", lambda name: "0.67.1")
        assert not kernels.are_compiled()
        kernels.mark_compiled()
        assert kernels.are_compiled()
        os.utime(source, (2**30, 2**30))
        assert not kernels.are_compiled()
    assert not kernels.are_compiled()
    kernels.mark_compiled()
    (tmp_path / kernels.STAMP).unlink()
    assert not kernels.are_compiled()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernels.are_compiled()


def test_says_whose_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of several problems prints a line for each, once."""
    compiled: set[str | None] = set()
    monkeypatch.setattr(kernels, "are_compiled", lambda problem=None: problem in compiled)
    monkeypatch.setattr(kernels, "mark_compiled", compiled.add)
    monkeypatch.setattr(kernels, "methods", lambda problem: {})
    printed = io.StringIO()
    console = Console(file=printed, width=120)
    for problem in ("pipeline", "ordering", "pipeline", None):
        kernels.compile_kernels(console, problem)
    assert [line.split(",")[0] for line in printed.getvalue().splitlines()] == [
        "compiling kernels of pipeline",
        "compiling kernels of ordering",
        "compiling kernels",
    ]
