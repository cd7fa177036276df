"""Measures the memory that a task's processes hold together."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

# How often exact sums are worth their price: Linux walks page tables to find them.
EXACT_SECONDS = 0.25

_KIB = 1024


class MemoryWatch:
    """Tells whether a task's processes exceed a limit in bytes, and how much they held at most."""

    def __init__(self, limit: int) -> None:
        self.peak = 0
        self._limit = limit
        self._exact_at = float("-inf")

    def exceeds(self, pids: Sequence[int]) -> bool:
        """Measure the memory now; return whether it exceeds the limit."""
        held = resident_bytes(pids)
        if held > self._limit:
            now = time.monotonic()
            if now < self._exact_at + EXACT_SECONDS:
                return False
            self._exact_at = now
            # Where the system does not say, shared pages count in every process.
            held = exact_bytes(pids) or held
        self.peak = max(self.peak, held)
        return held > self._limit


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the bytes that processes hold, with pages that they share counted in each."""
    return sum(_sum(f"/proc/{pid}/status", ("VmRSS", "VmSwap")) for pid in pids)


def exact_bytes(pids: Iterable[int]) -> int:
    """Return the bytes that processes hold, every page counted once.

    Pages that others share, such as those of the warm process, count in part.
    """
    return sum(_sum(f"/proc/{pid}/smaps_rollup", ("Pss", "SwapPss")) for pid in pids)


def _sum(path: str, names: Sequence[str]) -> int:
    """Return the sum of some sizes in a file of the system; 0 if its process has ended."""
    total = 0
    with suppress(OSError):
        for line in Path(path).read_text(errors="replace").splitlines():
            name, _, rest = line.partition(":")
            if name in names:
                total += int(rest.split()[0]) * _KIB
    return total
