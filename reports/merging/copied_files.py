"""Copies of the documents of results folders; a file whose name belies its content stays behind."""

import gzip
import hashlib
import shutil
import zlib
from pathlib import Path

# Folders whose files are named after the hash of their content, and those whose files are not.
BY_HASH = ("instances", "solutions", "certificates")
BY_NAME = ("labels", "environments", "machine")


def copy_documents(source: Path, target: Path) -> list[str]:
    """Copy the documents of one results folder into another, which keeps what it has.

    Returns
    -------
    list of str
        The files that were not copied because they were changed, by their path in `source`.

    Raises
    ------
    OSError
        If the disk refuses.
    """
    changed = []
    for folder in (*BY_HASH, *BY_NAME):
        (target / folder).mkdir(exist_ok=True)
        for path in sorted((source / folder).glob("*.json*")):
            copy = target / folder / path.name
            if path.name.startswith(".") or not path.is_file():
                continue
            if folder == "machine":
                copy = _unused(copy, path.read_bytes())
            if copy.exists():
                continue
            if folder in BY_HASH and not _is_unchanged(path):
                changed.append(f"{folder}/{path.name}")
                continue
            shutil.copyfile(path, copy)
    return changed


def _unused(path: Path, content: bytes) -> Path:
    """Return a path that is free or has this content: hosts may name their files alike."""
    number, found = 2, path
    while found.exists() and found.read_bytes() != content:
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return found


def _is_unchanged(path: Path) -> bool:
    """Whether a file's content has the hash that names it, compressed or not."""
    found = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while chunk := file.read(1 << 20):
                found.update(chunk)
    except (OSError, EOFError, zlib.error):
        return False
    return found.hexdigest() == path.name.partition(".")[0]
