"""Whether the compiled kernels of the methods are on disk, so that importing them is quick."""

import contextlib
import importlib.util
import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path

from boundmark.problems.catalog import may_treat
from boundmark.problems.plugins import entry_points_of

# A decorator that compiles, at the beginning of a line.
_KERNEL = re.compile(r"^@(njit|compiled|internal|inlined)\(", re.MULTILINE)


def are_compiled(problem: str | None = None) -> bool:
    """Whether each folder of ours with kernels has compiled ones beside them.

    Of those that hold methods for one problem, if it is given. After a source was changed, it
    is compiled anew. Where they are kept elsewhere, nobody knows, and they are taken to be there.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    return all(
        _is_fresh(sources) or not os.access(folder, os.W_OK)
        for folder, sources in itertools.groupby(_sources(problem), key=lambda path: path.parent)
    )


def mark_compiled(problem: str | None = None) -> None:
    """Note that all is compiled: what has a new date and its old content is not compiled again."""
    for source in _sources(problem):
        for path in _compiled(source):
            with contextlib.suppress(OSError):
                path.touch()


def _is_fresh(sources: Iterable[Path]) -> bool:
    """Whether some modules of a folder are compiled, and none of them was changed since then."""
    compiled = [(source, found) for source in sources if (found := _compiled(source))]
    return bool(compiled) and all(
        source.stat().st_mtime <= max(path.stat().st_mtime for path in found)
        for source, found in compiled
    )


def _compiled(source: Path) -> list[Path]:
    """Return the indices that numba keeps of a module's compiled functions."""
    return list((source.parent / "__pycache__").glob(f"{source.stem}.*.nbi"))


def _sources(problem: str | None) -> list[Path]:
    """Return the modules that have kernels."""
    points = entry_points_of("boundmark.methods")
    if problem is not None:
        points = [point for point in points if may_treat(point.name, problem)]
    found: list[Path] = []
    for point in points:
        if point.module.startswith("boundmark."):
            spec = importlib.util.find_spec(point.module)
            if spec is not None and spec.origin is not None:
                modules = Path(spec.origin).parent.rglob("*.py")
                found += (path for path in modules if _KERNEL.search(path.read_text("utf-8")))
    return sorted(found, key=lambda path: (path.parent, path))
