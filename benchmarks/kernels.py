"""Whether the compiled kernels of the methods are on disk, so that importing them is quick."""

import contextlib
import importlib.util
import os
from pathlib import Path

from boundmark.problems.catalog import may_treat
from boundmark.problems.plugins import entry_points_of


def are_compiled(problem: str | None = None) -> bool:
    """Whether each of our packages of methods that has kernels has compiled ones beside them.

    Of those that hold methods for one problem, if it is given. After a source was changed, it
    is compiled anew. Where they are kept elsewhere, nobody knows, and they are taken to be there.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    return all(_is_fresh(folder) or not os.access(folder, os.W_OK) for folder in _folders(problem))


def mark_compiled(problem: str | None = None) -> None:
    """Note that all is compiled: what has a new date and its old content is not compiled again."""
    for folder in _folders(problem):
        for path in (folder / "__pycache__").glob("*.nbi"):
            with contextlib.suppress(OSError):
                path.touch()


def _is_fresh(folder: Path) -> bool:
    """Whether something is compiled, and nothing before its source was changed."""
    compiled: dict[str, float] = {}
    for path in (folder / "__pycache__").glob("*.nbi"):
        module = path.name.partition(".")[0]
        compiled[module] = max(compiled.get(module, 0.0), path.stat().st_mtime)
    sources = {module: folder / f"{module}.py" for module in compiled}
    return bool(compiled) and all(
        path.stat().st_mtime <= compiled[module]
        for module, path in sources.items()
        # Caches outlive modules that are gone.
        if path.exists()
    )


def _folders(problem: str | None) -> list[Path]:
    """Return the folders named kernels, and those with a module whose name ends in that word."""
    points = entry_points_of("boundmark.methods")
    if problem is not None:
        points = [point for point in points if may_treat(point.name, problem)]
    folders: list[Path] = []
    for point in points:
        if point.module.startswith("boundmark."):
            spec = importlib.util.find_spec(point.module)
            if spec is not None and spec.origin is not None:
                package = Path(spec.origin).parent
                folders += package.rglob("kernels")
                folders += sorted({path.parent for path in package.rglob("*kernels.py")})
    return folders
