"""Measures the memory that processes hold together, with shared memory that nobody has mapped.

Resident pages alone are not enough: a file in memory (memfd, ``/dev/shm``, System V) fills up
without being mapped, and pages that were swapped out are still a task's. Linux knows the exact sum,
but walks page tables to find it, so bounds that cost microseconds come first.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# How often exact sums are worth their price, if the bounds do not ask for one earlier.
EXACT_SECONDS = 0.25

_KIB = 1024
_BLOCK = 512
_SHARED = ("/memfd:", "/dev/shm/", "/SYSV")


@dataclass(frozen=True)
class Bounds:
    """Bounds on the memory that processes hold, in bytes.

    Attributes
    ----------
    most
        Shared pages counted in every process.
    about
        Shared memory counted once if it is mapped; pages that processes inherited from each other
        still counted in each.
    """

    most: int
    about: int


class MemoryWatch:
    """Tells whether a task's processes exceed a limit, and what their peak was.

    Parameters
    ----------
    limit
        In bytes.
    shared_bytes
        Returns what the task holds elsewhere, see `shared_memory`.
    """

    def __init__(self, limit: int, shared_bytes: Callable[[Sequence[int]], int]) -> None:
        self.peak = 0
        self._limit = limit
        self._shared_bytes = shared_bytes
        self._exact = 0
        self._exact_most = 0
        self._exact_at = float("-inf")

    def exceeds(self, pids: Sequence[int]) -> bool:
        """Look once."""
        apart = self._shared_bytes(pids) + memory_files(pids)
        bounds = _bounds(pids, apart)
        if bounds.most <= self._limit:
            self.peak = max(self.peak, bounds.about)
            return False
        # Since the last exact sum, memory has grown by no more than the bound has, unless
        # processes wrote to pages that they had shared.
        if (
            self._exact + max(0, bounds.most - self._exact_most) <= self._limit
            and time.monotonic() < self._exact_at + EXACT_SECONDS
        ):
            return False
        self._exact, self._exact_most = exact_bytes(pids, apart), bounds.most
        self._exact_at = time.monotonic()
        self.peak = max(self.peak, self._exact)
        return self._exact > self._limit


def exact_bytes(pids: Iterable[int], apart: int) -> int:
    """Return what processes hold, every page counted once.

    Pages that others share, such as those of the warm process, count in part.

    Parameters
    ----------
    apart
        Bytes in shared memory, whether mapped or not.
    """
    mapped = total = 0
    for pid in pids:
        for path, kibibytes in _mappings(pid):
            total += kibibytes * _KIB
            if path.startswith(_SHARED):
                mapped += kibibytes * _KIB
    return total + max(0, apart - mapped)


def memory_files(pids: Iterable[int]) -> int:
    """Return the bytes in memory files (memfd) that processes have open, each file once."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                link = f"/proc/{pid}/fd/{name}"
                with contextlib.suppress(OSError):
                    if os.readlink(link).startswith("/memfd:"):
                        status = os.stat(link)
                        found[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sum(found.values())


def _bounds(pids: Iterable[int], apart: int) -> Bounds:
    resident = shared = 0
    for pid in pids:
        status = _status(pid)
        resident += status["VmRSS"] + status["VmSwap"] + status["HugetlbPages"]
        shared += status["RssShmem"]
    return Bounds(resident + apart, resident + max(0, apart - shared))


def _status(pid: int) -> Mapping[str, int]:
    """Return sizes in bytes; those of a process that has ended are 0."""
    found = dict.fromkeys(("VmRSS", "RssShmem", "VmSwap", "HugetlbPages"), 0)
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            name, _, rest = line.partition(":")
            if name in found:
                found[name] = int(rest.split()[0]) * _KIB
    return found


def _mappings(pid: int) -> Iterable[tuple[str, int]]:
    """Yield path and proportional size in KiB, swapped pages included, of each mapping."""
    path = ""
    try:
        with open(f"/proc/{pid}/smaps", errors="replace") as file:
            for line in file:
                name, *rest = line.split(maxsplit=5)
                if not name.endswith(":"):
                    path = rest[4].rstrip("\n") if len(rest) > 4 else ""
                elif name in ("Pss:", "SwapPss:", "Private_Hugetlb:", "Shared_Hugetlb:"):
                    yield path, int(rest[0])
    except OSError:
        return
