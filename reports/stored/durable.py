"""Files that a crash leaves either as they were or complete, never in part."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from boundmark.problems.errors import StoreError

PARTIAL_SUFFIX = ".part"

# To write or remove a file is to wait for the disk. Those who wait together wait once: it takes a
# fifth of the time for files that are written, a fifteenth for files that are removed.
FILES_AT_A_TIME = 8


def write_durably(path: Path, content: Any) -> None:
    """Create or replace a file so that no crash or power cut after the return loses it."""
    with writing_durably(path) as file:
        file.write(content)


def make_folder(folder: Path) -> None:
    """Create a folder, and those that it lies in, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}.") from error


@contextmanager
def writing_durably(path: Path) -> Iterator[BinaryIO]:
    """Open a file to create or replace; it gets its name once the block ends without an error."""
    if not path.name:
        raise StoreError(f"{path} is a folder; expected the path of a file.")
    unique = f"{os.getpid()}-{threading.get_native_id()}"
    temporary = path.with_name(f".{path.name}.{unique}{PARTIAL_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise StoreError(f"{path} cannot be written: {error.strerror}.") from error
        raise


def remove_partial_files(folder: Path, *, of_living: bool) -> None:
    """Delete partial files that interrupted writers have left in a folder, if it exists."""
    for path in folder.glob(f".*{PARTIAL_SUFFIX}"):
        writer = path.name.removesuffix(PARTIAL_SUFFIX).rpartition(".")[2].partition("-")[0]
        if not of_living and Path(f"/proc/{writer}").exists():
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{path} cannot be deleted: {error.strerror}.") from error


def sync_directory(directory: Path) -> None:
    """Make renames and removals in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
