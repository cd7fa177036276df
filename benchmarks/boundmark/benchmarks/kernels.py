"""Whether the compiled kernels of the methods are on disk, so that importing them is quick."""

import importlib.util
from pathlib import Path

from boundmark.problems.plugins import entry_points_of


def are_compiled() -> bool:
    """Whether each of our packages of methods that has kernels has compiled ones beside them.

    Only ever wrong about how long an import takes.
    """
    folders = []
    for point in entry_points_of("boundmark.methods"):
        if point.module.startswith("boundmark."):
            spec = importlib.util.find_spec(point.module)
            if spec is not None and spec.origin is not None:
                folders += list(Path(spec.origin).parent.rglob("kernels"))
    return all(any((folder / "__pycache__").glob("*.nbi")) for folder in folders)
