"""Kernels are compiled once, by one process, and kept wherever numba can write."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Prints what the kernel returns, whether it came from disk, and the seconds of compiling.
MODULE = """
import json
import os

from boundmark.problems.compiling import are_kernels_kept, compile_seconds, compiled, internal
from numba import types


@internal([types.int64(types.int64)])
def next_to(number):
    return number + 1


@compiled([types.int64(types.int64)])
def count(limit):
    found = 0
    for number in range(limit):
        found = next_to(found)
    return found


kernels = (next_to, count)
misses = sum(sum(one.stats.cache_misses.values()) for one in kernels)
assert are_kernels_kept() == ("UNKEPT" not in os.environ)
print(json.dumps([count(41), misses, compile_seconds()]))
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Return a module of two kernels, in a folder of its own."""
    path = tmp_path / "package" / "kernels.py"
    path.parent.mkdir()
    path.write_text(MODULE)
    return path


def started(module: Path, **places: object) -> subprocess.Popen[str]:
    """Import a module of kernels in a new process, with other places for caches."""
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, module],
        env={**clean, **{name: str(place) for name, place in places.items()}},
        stdout=subprocess.PIPE,
        text=True,
    )


def printed(process: subprocess.Popen[str]) -> tuple[int, int, float]:
    """Return what `MODULE` has printed."""
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    result, misses, seconds = json.loads(text)
    return result, misses, seconds


def test_of_several_processes_one_compiles(module: Path) -> None:
    """Whichever comes first: the others wait, and load what it has written."""
    found = [printed(one) for one in [started(module) for _ in range(3)]]
    assert [result for result, _, _ in found] == [41] * 3
    assert sum(misses for _, misses, _ in found) == 2
    assert printed(started(module)) == (41, 0, 0.0)


@pytest.mark.parametrize("place", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_kernels_are_kept_where_numba_can_write(module: Path, tmp_path: Path, place: str) -> None:
    """The second process compiles nothing, although nothing is written beside the module."""
    # As where a package is installed by somebody else; root may write into any folder.
    (module.parent / "__pycache__").write_text("")
    first = printed(started(module, **{place: tmp_path / "kept"}))
    assert first[:2] == (41, 2)
    assert first[2] > 0
    assert printed(started(module, **{place: tmp_path / "kept"})) == (41, 0, 0.0)


def test_kernels_compile_where_nothing_can_be_kept(module: Path, tmp_path: Path) -> None:
    """Each process for itself."""
    (module.parent / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    for _ in range(2):
        result, _, seconds = printed(started(module, XDG_CACHE_HOME=tmp_path / "file", UNKEPT=1))
        assert result == 41
        assert seconds > 0
