"""Measure how fast this machine is while tasks run, by a computation timed at intervals."""

import platform
import time
from pathlib import Path

from boundmark.benchmarks.execution.task import Outcome
from boundmark.reports.stored.run_records import write_reference_seconds
from boundmark.reports.stored.store import ResultStore

# Of the walk below: as long as it is, and wider than fast caches are.
STEPS = 400_000
ROOM = 1 << 22


def reference_seconds() -> float:
    """Return the CPU seconds that the reference task takes here and now.

    A walk over 4 MiB whose every step depends on the last one: arithmetic and memory in a
    proportion that is nobody's in particular. Changing it makes all baselines useless.
    """
    room = bytearray(ROOM)
    began = time.thread_time()
    at = 1
    for _ in range(STEPS):
        at = (at * 1_103_515_245 + 12_345 + room[at & (ROOM - 1)]) & 0xFFFFFFFF
        room[at & (ROOM - 1)] = at & 0xFF
    return time.thread_time() - began


class MachineSpeed:
    """Times the reference task at intervals, and stores the times.

    Parameters
    ----------
    store
        The folder of the run. Only tasks of this machine count: others say nothing about it.
    seconds_between
        Time between two measurements, of about a tenth of a second each: a percent of one CPU.
    """

    def __init__(self, store: ResultStore, seconds_between: float = 10.0) -> None:
        self._store = store
        self._seconds_between = seconds_between
        self._host = platform.node()
        self._file: Path | None = None
        self._seconds: list[float] = []
        self._due = time.monotonic()

    def after(self, outcome: Outcome) -> None:
        """Time the reference task after a task of this machine, if the last time is old enough.

        Raises
        ------
        StoreError
            If it cannot be stored.
        """
        elsewhere = outcome.environment is not None and outcome.environment["host"] != self._host
        if time.monotonic() < self._due or elsewhere:
            return
        self._seconds.append(reference_seconds())
        self._file = write_reference_seconds(self._store, self._seconds, self._file)
        self._due = time.monotonic() + self._seconds_between
