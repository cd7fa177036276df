"""Hashes of the files that a run left in a folder, in the format of sha256sum.

Documents prove what they state, and nothing proves that a folder is what a run left: rows may be
removed, renamed or older ones put in place. Who publishes the hash of a manifest on the day of the
run, elsewhere than beside the folder, closes that.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from boundmark.problems.errors import InvalidInputError, StoreError
from boundmark.problems.files import open_regular, read_bytes
from boundmark.reports.stored.durable import FILES_AT_A_TIME, write_durably

# What runs write. Reports, which anybody can make again, are not part of it.
FOLDERS = (
    "results", "traces", "instances", "solutions", "certificates", "labels", "environments",
    "machine",
)  # fmt: skip
FILES = ("environment.json", "notes.json")

_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def files_of_run(directory: Path) -> list[str]:
    """Return what runs have written into a results folder, by path below it."""
    found = [name for name in FILES if os.path.lexists(directory / name)]
    for folder in FOLDERS:
        paths = (path for path in (directory / folder).rglob("*") if not path.is_dir())
        found += [path.relative_to(directory).as_posix() for path in paths]
    # Partial files of a killed run are hidden, and count for nothing.
    return sorted(name for name in found if not name.rpartition("/")[2].startswith("."))


def write_manifest(directory: Path, path: Path) -> str:
    """Write the manifest of a folder, and return the manifest's own hash."""
    hashes = _hashes(directory, files_of_run(directory))
    for name, digest in hashes.items():
        if not digest or "\n" in name:
            raise StoreError(f"{directory / name!s} cannot be read; expected a regular file.")
    text = "".join(f"{digest}  {name}\n" for name, digest in hashes.items())
    write_durably(path, text.encode(errors="surrogateescape"))
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def read_manifest(path: Path) -> dict[str, str]:
    """Return the hash of each file that a manifest lists."""
    found: dict[str, str] = {}
    text = read_bytes(path, "a manifest").decode(errors="surrogateescape")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in found:
            raise InvalidInputError(
                f"{path}: line {number} is {line[:80]!r}; expected a SHA-256, two spaces and the "
                "path of a file, each once, as `boundmark run --manifest` writes."
            )
        found[match[2]] = match[1]
    return found


def differences(directory: Path, manifest: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Yield each file of a folder and a manifest, with what is wrong with it; None if nothing."""
    hashes = _hashes(directory, files_of_run(directory))
    for name in sorted({*hashes, *manifest}):
        if name not in manifest:
            yield name, "it was added: the manifest does not list it"
        elif name not in hashes:
            yield name, "it is missing: the manifest lists it"
        elif hashes[name] != manifest[name]:
            found = hashes[name] or "no regular file"
            yield name, f"it was changed: it is {found}; the manifest has {manifest[name]}"
        else:
            yield name, None


def _hashes(directory: Path, names: list[str]) -> dict[str, str]:
    """Return the hash of each file by name; an empty text for what cannot be read as a file."""
    with ThreadPoolExecutor(FILES_AT_A_TIME) as pool:
        found = pool.map(lambda name: _hash(directory / name), names)
    return dict(zip(names, found, strict=True))


def _hash(path: Path) -> str:
    try:
        with open(open_regular(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
