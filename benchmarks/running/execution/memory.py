"""Measures the memory that processes hold together, unmapped shared memory included.

Resident pages alone are not enough: a file in memory (memfd, ``/dev/shm``, System V) fills up
without being mapped, and pages that were swapped out are still a task's. Linux knows the exact sum,
but walks page tables to find it, so bounds that cost microseconds come first.
"""

import contextlib
import ctypes
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

# How often exact sums are worth their price, if the bounds do not ask for one earlier.
EXACT_SECONDS = 0.25

_KIB = 1024
_BLOCK = 512
_SHARED = ("/memfd:", "/dev/shm/", "/SYSV")

FOLDER = Path("/dev/shm")

_CLONE_NEWNS, _CLONE_NEWIPC = 0x00020000, 0x08000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_SLAVE = 2, 4, 1 << 14, 1 << 19
_IPC_RMID = 0
_libc = ctypes.CDLL(None, use_errno=True)


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
    """Measures the memory of a task's processes: whether it exceeds a limit, and its peak.

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
        """Measure the memory now; return whether it exceeds the limit."""
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
    """Return the bytes that processes hold, every page counted once.

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


class OwnSharedMemory:
    """Shared memory that only this task sees, in namespaces of its own."""

    def begin(self) -> None:
        """Do nothing: there is nothing to free."""

    def used_bytes(self, pids: Iterable[int]) -> int:
        """Return the size of all files and segments; deleted files that are still open count."""
        status = os.statvfs(FOLDER)
        files = (status.f_blocks - status.f_bfree) * status.f_frsize
        return files + sum(segment["rss"] + segment["swap"] for segment in _segments())

    def end(self) -> None:
        """Delete files and segments."""
        for path in FOLDER.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        for segment in _segments():
            _libc.shmctl(segment["shmid"], _IPC_RMID, None)


class CommonSharedMemory:
    """The machine's shared memory: a task's is what its processes had open or made since it began.

    A file that is filled and closed between two looks, and not opened again, is overlooked. Files
    stay when the task ends, because they may be for others.
    """

    def __init__(self) -> None:
        self._since = 0.0
        self._files_since = 0
        self._files: dict[tuple[int, int], Path] = {}
        self._pids: set[int] = set()

    def begin(self) -> None:
        """Forget earlier tasks."""
        self._since = time.time()
        self._files_since = _time_of_files()
        self._files.clear()
        self._pids.clear()

    def used_bytes(self, pids: Iterable[int]) -> int:
        """Return the size of the task's files that still exist, and of its segments."""
        sizes: dict[tuple[int, int], int] = {}
        for pid in pids:
            self._pids.add(pid)
            with contextlib.suppress(OSError):
                for name in os.listdir(f"/proc/{pid}/fd"):
                    self._look(Path(f"/proc/{pid}/fd/{name}"), sizes)
        for identity, path in self._files.items():
            with contextlib.suppress(OSError):
                status = path.stat()
                if (status.st_dev, status.st_ino) == identity:
                    sizes[identity] = status.st_blocks * _BLOCK
        segments = sum(segment["rss"] + segment["swap"] for segment in self._segments())
        return sum(sizes.values()) + segments

    def end(self) -> None:
        """Delete segments."""
        for segment in self._segments():
            _libc.shmctl(segment["shmid"], _IPC_RMID, None)

    def _look(self, link: Path, sizes: dict[tuple[int, int], int]) -> None:
        with contextlib.suppress(OSError):
            target = os.readlink(link)
            if not target.startswith(f"{FOLDER}/"):
                return
            status = link.stat()
            if status.st_ctime_ns >= self._files_since:
                identity = (status.st_dev, status.st_ino)
                self._files[identity] = Path(target)
                sizes[identity] = status.st_blocks * _BLOCK

    def _segments(self) -> Iterator[dict[str, int]]:
        for segment in _segments():
            # Its time is in full seconds.
            if segment["cpid"] in self._pids and segment["ctime"] >= int(self._since):
                yield segment


# The shared memory of a task, as a server watches and frees it.
SharedMemory: TypeAlias = OwnSharedMemory | CommonSharedMemory


def shared_memory() -> SharedMemory:
    """Give this process shared memory of its own; return the machine's if that is not possible.

    Only the superuser may have his own, typically in containers and on cluster nodes. It must be
    asked for before there is a second thread.
    """
    if not FOLDER.is_dir() or _libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC) != 0:
        return CommonSharedMemory()
    # What is mounted here stays here.
    if _libc.mount(None, b"/", None, _MS_REC | _MS_SLAVE, None) != 0:
        return CommonSharedMemory()
    if _libc.mount(b"tmpfs", bytes(FOLDER), b"tmpfs", _MS_NOSUID | _MS_NODEV, b"mode=1777") != 0:
        return CommonSharedMemory()
    return OwnSharedMemory()


def _time_of_files() -> int:
    """Return the time that a file would get now in the shared memory, in ns.

    Files get the time of the last tick of the kernel, which is up to 10 ms before `time.time`.
    """
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=FOLDER) as file:
        return os.fstat(file.fileno()).st_ctime_ns
    return time.time_ns()


def _segments() -> Iterator[dict[str, int]]:
    """Yield what Linux says about each System V segment that this process can see."""
    with contextlib.suppress(OSError):
        names, *lines = Path("/proc/sysvipc/shm").read_text().splitlines()
        for line in lines:
            values = dict(zip(names.split(), line.split(), strict=True))
            yield {name: int(value, 8 if name == "perms" else 10) for name, value in values.items()}
