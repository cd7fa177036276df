"""Memory that outlives the processes which filled it: files in ``/dev/shm``, System V segments.

Where it is permitted, a server has a name space of its own for both, so that all there is in it
belongs to the task that runs, and goes with it.
"""

import contextlib
import ctypes
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

FOLDER = Path("/dev/shm")

_CLONE_NEWNS, _CLONE_NEWIPC = 0x00020000, 0x08000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_SLAVE = 2, 4, 1 << 14, 1 << 19
_IPC_RMID = 0
_BLOCK = 512
_libc = ctypes.CDLL(None, use_errno=True)


class SharedMemory(Protocol):
    """The shared memory of a task, as a server watches and frees it."""

    def begin(self) -> None:
        """Note that a task begins."""

    def used_bytes(self, pids: Iterable[int]) -> int:
        """Return what the task holds there; `pids` are its processes."""

    def end(self) -> None:
        """Free what the task has left; its processes have ended."""


def shared_memory() -> SharedMemory:
    """Give this process shared memory of its own, or else return what all share.

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


class OwnSharedMemory:
    """Shared memory that nobody else sees."""

    def begin(self) -> None:
        """Do nothing: there is none."""

    def used_bytes(self, pids: Iterable[int]) -> int:
        """Return the size of all there is; deleted files that are still open count."""
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
        self._files: dict[tuple[int, int], Path] = {}
        self._pids: set[int] = set()

    def begin(self) -> None:
        """Forget earlier tasks."""
        self._since = time.time()
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
            if status.st_ctime >= self._since:
                identity = (status.st_dev, status.st_ino)
                self._files[identity] = Path(target)
                sizes[identity] = status.st_blocks * _BLOCK

    def _segments(self) -> Iterator[dict[str, int]]:
        for segment in _segments():
            # Its time is in full seconds.
            if segment["cpid"] in self._pids and segment["ctime"] >= int(self._since):
                yield segment


def _segments() -> Iterator[dict[str, int]]:
    """Yield what Linux says about each System V segment that this process can see."""
    with contextlib.suppress(OSError):
        names, *lines = Path("/proc/sysvipc/shm").read_text().splitlines()
        for line in lines:
            values = dict(zip(names.split(), line.split(), strict=True))
            yield {name: int(value, 8 if name == "perms" else 10) for name, value in values.items()}
