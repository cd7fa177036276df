"""How fast the machine was while tasks ran: what a task that never changes took, again and again.

A run takes the time of this reference task now and then, and keeps it in `machine/` of its folder,
one file per process that ran tasks. A machine that got slower is thus not mistaken for methods
that did.
"""

import json
from pathlib import Path

from boundmark.problems.errors import StoreError
from boundmark.reports.stored.durable import write_durably
from boundmark.reports.stored.store import ResultStore


def write_reference_seconds(store: ResultStore, name: str, seconds: list[float]) -> None:
    """Store the CPU seconds of a process's reference tasks, in the order in which they ran.

    Parameters
    ----------
    name
        Of the file, without its ending.

    Raises
    ------
    StoreError
        If the file cannot be written.
    """
    try:
        store.machine.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"{store.machine} cannot be written: {error.strerror}.") from error
    write_durably(store.machine / f"{name}.json", json.dumps(seconds).encode())


def reference_seconds(store: ResultStore) -> tuple[float, ...]:
    """Return the CPU seconds of all reference tasks of a folder; none if none were taken.

    Raises
    ------
    StoreError
        If a file does not hold a list of numbers above 0.
    """
    found: list[float] = []
    for path in sorted(Path(store.machine).glob("*.json")):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read as JSON: {error}.") from error
        if not isinstance(values, list) or not all(_is_time(value) for value in values):
            raise StoreError(f"{path} holds {values!r:.80}; expected a list of seconds.")
        found += values
    return tuple(found)


def _is_time(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < 1e6  # type: ignore[operator]
