"""Whether the compiled kernels of the methods are on disk, so that importing them is quick."""

import importlib.util
import os
from pathlib import Path

from boundmark.problems.catalog import may_treat
from boundmark.problems.plugins import entry_points_of


def are_compiled(problem: str | None = None) -> bool:
    """Whether each of our packages of methods that has kernels has compiled ones beside them.

    Of those that hold methods for one problem, if it is given.

    Where they are kept elsewhere, nobody knows, and they are taken to be there.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    points = entry_points_of("boundmark.methods")
    if problem is not None:
        points = [point for point in points if may_treat(point.name, problem)]
    folders = []
    for point in points:
        if point.module.startswith("boundmark."):
            spec = importlib.util.find_spec(point.module)
            if spec is not None and spec.origin is not None:
                folders += list(Path(spec.origin).parent.rglob("kernels"))
    return all(
        any((folder / "__pycache__").glob("*.nbi")) or not os.access(folder, os.W_OK)
        for folder in folders
    )
