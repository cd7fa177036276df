"""Packages with entry points, installed as far as Python can tell: a module and a dist-info."""

from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path, name: str, entry_points: Mapping[str, Mapping[str, str]], code: str = ""
) -> Path:
    """Write a package into a folder, which is then installed wherever it is on Python's path.

    Parameters
    ----------
    entry_points
        For each group, names and what they refer to.
    code
        Of the package's only module, which is called like it with underscores.
    """
    (folder / f"{name.replace('-', '_')}.py").write_text(code)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    sections = [
        f"[{group}]\n" + "".join(f"{point} = {value}\n" for point, value in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(sections))
    return info
