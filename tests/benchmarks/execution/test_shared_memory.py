import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from boundmark.benchmarks.execution.memory import CommonSharedMemory

MIB = 2**20

OWN = """
import os, sys
from pathlib import Path
from boundmark.benchmarks.execution.memory import OwnSharedMemory, shared_memory
memory = shared_memory()
if not isinstance(memory, OwnSharedMemory): sys.exit("not permitted")
memory.begin()
assert memory.used_bytes([]) == 0
Path("/dev/shm/file").write_bytes(b"x" * 2**20)
Path("/dev/shm/folder").mkdir()
Path("/dev/shm/folder/file").write_bytes(b"x" * 2**20)
Path("/dev/shm/link").symlink_to("/")
kept = open("/dev/shm/deleted", "wb")
kept.write(b"x" * 2**20); kept.flush()
os.unlink("/dev/shm/deleted")
assert 3 * 2**20 <= memory.used_bytes([]) < 4 * 2**20, memory.used_bytes([])
print(sorted(os.listdir("/dev/shm")))
kept.close()
memory.end()
assert memory.used_bytes([]) == 0
assert os.path.isdir("/proc")
"""


def test_own_memory_is_empty_private_and_cleared() -> None:
    """All that is in it is the task's, open files without a name included; others see nothing."""
    before = sorted(os.listdir("/dev/shm"))
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True)
    if done.stderr == "not permitted\n":
        pytest.skip("a name space of one's own is not permitted here")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['file', 'folder', 'link']\n"
    assert set(before) >= set(os.listdir("/dev/shm")) & {"file", "folder", "link", "deleted"}


@pytest.fixture
def older() -> Iterator[Path]:
    """Return somebody's file in the machine's shared memory."""
    path = Path(f"/dev/shm/boundmark-older-{os.getpid()}")
    path.write_bytes(b"x" * MIB)
    # Files that were made in the same tick of the kernel's clock have the same time.
    time.sleep(0.02)
    yield path
    path.unlink()


@pytest.fixture
def newer() -> Iterator[Path]:
    """Return where a file may be made."""
    path = Path(f"/dev/shm/boundmark-newer-{os.getpid()}")
    yield path
    path.unlink(missing_ok=True)


def test_common_memory_is_a_tasks_if_it_was_open(older: Path, newer: Path) -> None:
    """Also after it was closed, until it is deleted; files that are only read are somebody's."""
    memory = CommonSharedMemory()
    memory.begin()
    me = [os.getpid()]
    with older.open("rb"), newer.open("wb") as file:
        file.write(b"x" * (2 * MIB))
        file.flush()
        assert memory.used_bytes(me) == 2 * MIB
    assert memory.used_bytes(me) == 2 * MIB
    with newer.open("rb"):
        newer.unlink()
        assert memory.used_bytes(me) == 2 * MIB
    assert memory.used_bytes(me) == 0
    memory.begin()
    assert memory.used_bytes(me) == 0


def test_times_of_files_may_be_behind_the_clock(
    newer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files get the time of the kernel's last tick, which may be before the task began."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 0.01)
    memory = CommonSharedMemory()
    memory.begin()
    with newer.open("wb") as file:
        file.write(b"x" * MIB)
        file.flush()
        assert memory.used_bytes([os.getpid()]) == MIB


def test_segments_are_a_tasks_if_it_made_them() -> None:
    """They count without being attached, and are deleted with their task."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    memory = CommonSharedMemory()
    memory.begin()
    segment = libc.shmget(0, ctypes.c_size_t(MIB), 0o1600)
    address = libc.shmat(segment, None, 0)
    ctypes.memset(address, 1, MIB)
    libc.shmdt(ctypes.c_void_p(address))
    assert memory.used_bytes([]) == 0
    assert memory.used_bytes([os.getpid()]) == MIB
    memory.end()
    assert memory.used_bytes([os.getpid()]) == 0
    assert libc.shmat(segment, None, 0) == ctypes.c_void_p(-1).value
