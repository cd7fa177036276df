"""Copies of the documents of results folders; a file whose name belies its content stays behind."""

import hashlib
from pathlib import Path

from boundmark.problems.regular_file import decompressed, read_regular

# Folders whose files are named after the hash of their content, and those whose files are not.
BY_HASH = ("instances", "solutions", "certificates")
BY_NAME = ("labels", "environments", "machine")


def copy_documents(source: Path, target: Path) -> dict[str, str]:
    """Copy the documents of one results folder into another, which keeps what it has.

    Returns
    -------
    dict of str to str
        Why files were not copied, in a clause each, by their path in `source`.

    Raises
    ------
    OSError
        If the disk refuses.
    """
    left = {}
    for folder in (*BY_HASH, *BY_NAME):
        (target / folder).mkdir(exist_ok=True)
        for path in sorted((source / folder).glob("*.json*")):
            copy = target / folder / path.name
            if path.name.startswith(".") or path.is_dir():
                continue
            if copy.exists() and folder != "machine":
                continue
            try:
                content = read_regular(path)
                digest = _hash_of(path, content) if folder in BY_HASH else None
            except OSError as error:
                left[f"{folder}/{path.name}"] = str(error.strerror)
                continue
            if digest not in (None, path.name.partition(".")[0]):
                left[f"{folder}/{path.name}"] = "it was changed"
                continue
            if folder == "machine":
                copy = _unused(copy, content)
            copy.write_bytes(content)
    return left


def _unused(path: Path, content: bytes) -> Path:
    """Return a path that is free or has this content: hosts may name their files alike."""
    number, found = 2, path
    while found.exists() and found.read_bytes() != content:
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return found


def _hash_of(path: Path, content: bytes) -> str:
    """Return the hash that should name a file with this content, compressed or not."""
    shown = decompressed(content) if path.suffix == ".gz" else content
    return hashlib.sha256(shown).hexdigest()
