"""Compiles the methods' kernels once, and knows whether they are on disk."""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from boundmark.problems.catalog import may_treat, methods
from boundmark.problems.entry_points import entry_points_of

if TYPE_CHECKING:
    from rich.console import Console

# Beside what Python and numba keep, so that it goes when they go.
STAMP = Path("__pycache__") / "kernels-compiled"


def are_compiled(problem: str | None = None) -> bool:
    """Whether all our packages of methods were marked as compiled, and have not changed since.

    Of those that hold methods for one problem, if it is given. Where compiled kernels are kept
    elsewhere, or cannot be kept, nobody knows, and they are taken to be there.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    return all(_is_marked(folder) or not os.access(folder, os.W_OK) for folder in _folders(problem))


def mark_compiled(problem: str | None = None) -> None:
    """Note that the kernels are compiled, for these sources and this numba."""
    for folder in _folders(problem):
        # Where it cannot be noted, it is asked again.
        with contextlib.suppress(OSError):
            (folder / STAMP).parent.mkdir(exist_ok=True)
            (folder / STAMP).write_text(_digest(folder))


def _is_marked(folder: Path) -> bool:
    try:
        return (folder / STAMP).read_text() == _digest(folder)
    except (OSError, ValueError):
        return False


def _digest(folder: Path) -> str:
    """Return a hash of what numba knows its kernels by: its version, and sources or their dates."""
    version = importlib.metadata.version("numba")
    digest = hashlib.sha256(version.encode())
    # Earlier versions compile again what has another date, as after a reinstallation.
    goes_by_date = Version(version) < Version("0.68")
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
        if goes_by_date:
            digest.update(str(path.stat().st_mtime).encode())
    return digest.hexdigest()


def _folders(problem: str | None) -> list[Path]:
    """Return the folders of our packages of methods, and of their problems, which have kernels."""
    points = entry_points_of("boundmark.methods")
    if problem is not None:
        points = [point for point in points if may_treat(point.name, problem)]
    modules = [point.module for point in points if point.module.startswith("boundmark.")]
    modules += sorted({f"boundmark.problems.{name.rpartition('.')[2]}" for name in modules})
    specs = [importlib.util.find_spec(name) for name in modules]
    return [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]


def compile_kernels(console: "Console", problem: str | None = None) -> None:
    """Compile the methods' kernels if they are not on disk yet, with a line that says so."""
    if are_compiled(problem):
        return
    whose = f" of {problem}" if problem else ""
    told = f"compiling kernels{whose}, once after installation; up to a minute ..."
    with console.status(told):
        if not console.is_terminal:
            console.print(told)
        for method in methods(problem).values():
            method.load()
    mark_compiled(problem)
