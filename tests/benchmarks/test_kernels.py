"""Whether kernels are compiled, for a line that says so."""

import importlib.metadata
import os
from pathlib import Path

import pytest

from boundmark.benchmarks import kernels


def test_found_beside_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder needs a compiled one, no older than its source; elsewhere, all are."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    package = tmp_path / "methods"
    caches = [package / "a" / "kernels" / "__pycache__", package / "b" / "__pycache__"]
    for cache in caches:
        cache.mkdir(parents=True)
    (package / "b" / "move_kernels.py").write_text("")
    (package / "__init__.py").write_text("")
    point = importlib.metadata.EntryPoint("x", "boundmark.methods_of_a_test:M", "boundmark.methods")
    monkeypatch.setattr(kernels, "entry_points_of", lambda group: [point])

    class Spec:
        origin = str(package / "__init__.py")

    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: Spec)
    assert not kernels.are_compiled()
    (caches[0] / "one.nbi").touch()
    assert not kernels.are_compiled()
    (caches[1] / "other.nbi").touch()
    assert kernels.are_compiled()
    source = caches[0].parent / "one.py"
    source.write_text("")
    changed = (caches[0] / "one.nbi").stat().st_mtime + 1
    os.utime(source, (changed, changed))
    assert not kernels.are_compiled()
    past = changed - 10
    os.utime(source, (past, past))
    os.utime(caches[0] / "one.nbi", (past - 1, past - 1))
    assert not kernels.are_compiled()
    kernels.mark_compiled()
    assert kernels.are_compiled()
    (caches[1] / "other.nbi").unlink()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernels.are_compiled()
