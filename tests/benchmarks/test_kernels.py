"""Whether kernels are compiled, for a line that says so."""

import importlib.metadata
import os
from pathlib import Path

import pytest

from boundmark.benchmarks import kernels


def test_found_beside_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder needs a compiled one, no older than its source; elsewhere, all are there."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    package = tmp_path / "methods"
    caches = [package / name / "__pycache__" for name in ("a", "b")]
    for cache, name, decorator in zip(caches, ("one", "other"), ("njit", "compiled"), strict=True):
        cache.mkdir(parents=True)
        (cache.parent / f"{name}.py").write_text(f"@{decorator}([])\ndef f(): pass\n")
        (cache.parent / "plain.py").write_text("def f(): pass\n")
        os.utime(cache.parent / f"{name}.py", (0, 0))
    (package / "__init__.py").write_text("")
    point = importlib.metadata.EntryPoint("x", "boundmark.methods_of_a_test:M", "boundmark.methods")
    monkeypatch.setattr(kernels, "entry_points_of", lambda group: [point])

    class Spec:
        origin = str(package / "__init__.py")

    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: Spec)
    assert not kernels.are_compiled()
    one, other = caches[0] / "one.f-1.py311.nbi", caches[1] / "other.f-1.py311.nbi"
    one.touch()
    assert not kernels.are_compiled()
    other.touch()
    assert kernels.are_compiled()
    changed = one.stat().st_mtime + 1
    source = caches[0].parent / "one.py"
    os.utime(source, (changed, changed))
    assert not kernels.are_compiled()
    past = changed - 10
    os.utime(source, (past, past))
    os.utime(one, (past - 1, past - 1))
    assert not kernels.are_compiled()
    kernels.mark_compiled()
    assert kernels.are_compiled()
    other.unlink()
    assert not kernels.are_compiled()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernels.are_compiled()
