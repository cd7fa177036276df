"""How fast the machine was while tasks ran: the times of a reference task that never changes.

A run takes the time of this reference task now and then, and keeps it in `machine/` of its folder,
one file per process that ran tasks, named after the hash of its content. A machine that got slower
is thus not mistaken for methods that did.
"""

from pathlib import Path

from boundmark.problems.errors import StoreError
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.reports.stored.documents import read_json
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore


def write_reference_seconds(
    store: ResultStore, seconds: list[float], replaced: Path | None = None
) -> Path:
    """Store the CPU seconds of a process's reference tasks, and return the file.

    Parameters
    ----------
    seconds
        In the order in which they ran.
    replaced
        The process's file so far. A crash may leave both, with the first times twice.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    try:
        store.machine.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store.machine} cannot be written: {error.strerror}.") from error
    path = store.machine / f"{seconds_sha256(seconds)}.json"
    write_durably(path, canonical_json(seconds).encode())
    if replaced is not None and replaced != path:
        replaced.unlink(missing_ok=True)
    return path


def reference_seconds(store: ResultStore) -> tuple[float, ...]:
    """Return the CPU seconds of all reference tasks of a folder.

    Raises
    ------
    StoreError
        If a file does not hold a list of numbers above 0.
    """
    found: list[float] = []
    for path in sorted(store.machine.glob("*.json")):
        found += read_seconds(path)
    return tuple(found)


def read_seconds(path: Path) -> list[float]:
    """Return the CPU seconds that a process has stored.

    Raises
    ------
    StoreError
        If the file does not hold a list of numbers above 0.
    """
    values = read_json(path)
    if not isinstance(values, list) or not all(_is_time(value) for value in values):
        raise StoreError(f"{path} holds {values!r:.80}; expected a list of seconds.")
    return values


def seconds_sha256(seconds: list[float]) -> str:
    """Return the hash that names the file with these CPU seconds."""
    return sha256_hex(canonical_json(seconds))


def _is_time(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < 1e6  # type: ignore[operator]
