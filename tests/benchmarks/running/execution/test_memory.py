import ctypes
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boundmark.benchmarks.running.execution import processes
from boundmark.benchmarks.running.execution.memory import (
    CommonSharedMemory,
    MemoryWatch,
    exact_bytes,
    memory_files,
)

MIB = 2**20

Eventually = Callable[[Callable[[], object]], None]

START = "import ctypes, mmap, os, sys, time; MIB = 2**20\n"
WAIT = "\nprint('ready', flush=True); time.sleep(1000)"


@pytest.fixture
def start() -> Iterator[Callable[[str], int]]:
    """Return a function that runs some lines in a process of their own, which then waits."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", START + code + WAIT], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield run
    for process in started:
        processes.kill_descendants(process.pid)
        process.kill()
        process.communicate()


def watch(limit: int, apart: int = 0) -> MemoryWatch:
    """Return a watch that is told of so many bytes elsewhere."""
    return MemoryWatch(limit, lambda pids: apart)


@pytest.mark.parametrize(
    ("code", "mebibytes"),
    [
        ("kept = b'x' * (100 * MIB)", 100),
        ("kept = mmap.mmap(-1, 100 * MIB); kept.write(b'x' * len(kept))", 200),
        ("file = os.memfd_create('x'); os.write(file, b'x' * (100 * MIB))", 100),
        (
            "file = os.memfd_create('x'); os.write(file, b'x' * (100 * MIB))\n"
            "mapped = mmap.mmap(file, 100 * MIB); ctypes.string_at(ctypes.addressof("
            "ctypes.c_char.from_buffer(mapped)), 100 * MIB)",
            100,
        ),
        (
            "file = os.memfd_create('x'); os.write(file, b'x' * (100 * MIB))\n"
            "kept = b'x' * (100 * MIB)",
            200,
        ),
    ],
    ids=["private", "private and shared", "file", "mapped file", "file beside private"],
)
def test_every_byte_counts_once(start: Callable[[str], int], code: str, mebibytes: int) -> None:
    """A limit a little below what a process holds is exceeded, one a little above is not."""
    pid = start(code + "\nif 'kept' in dir() and len(kept) < 50 * MIB: kept = None")
    exact = exact_bytes([pid], memory_files([pid]))
    # The interpreter itself, and what it has not yet given back.
    assert 100 * MIB <= exact <= (mebibytes + 30) * MIB
    assert not watch(exact + MIB).exceeds([pid])
    seen = watch(exact - MIB)
    assert seen.exceeds([pid])
    assert seen.peak == pytest.approx(exact, abs=MIB)


def test_processes_count_together(start: Callable[[str], int]) -> None:
    """Two that share a file hold it once."""
    two = [start("kept = b'x' * (100 * MIB)") for _ in range(2)]
    assert exact_bytes(two, 0) > 200 * MIB
    assert not watch(exact_bytes(two, 0) + MIB).exceeds(two)
    assert watch(200 * MIB).exceeds(two)


def test_what_is_held_elsewhere_counts(start: Callable[[str], int]) -> None:
    """A process is charged for what others found of it."""
    pid = start("pass")
    assert not watch(100 * MIB).exceeds([pid])
    assert watch(100 * MIB, apart=100 * MIB).exceeds([pid])


def test_growth_within_shared_pages_is_noticed(
    start: Callable[[str], int], eventually: Eventually, tmp_path: Path
) -> None:
    """Pages that were shared with a parent become the child's own when it writes to them."""
    go = tmp_path / "go"
    pid = start(
        "kept = bytearray(b'x') * (100 * MIB)\n"
        "if os.fork() == 0:\n"
        f"    while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        "    kept[::4096] = b'y' * len(kept[::4096])\n"
        "    time.sleep(1000)"
    )
    both = [pid, *processes.children(pid)]
    seen = watch(160 * MIB)
    assert not seen.exceeds(both)
    go.touch()
    eventually(lambda: seen.exceeds(both))
    assert seen.peak > 160 * MIB


def test_a_process_that_is_gone_holds_nothing() -> None:
    """Processes may end while they are looked at."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    assert exact_bytes([child.pid], 0) == memory_files([child.pid]) == 0
    assert not watch(1).exceeds([child.pid])


def test_a_file_that_two_have_open_counts_once() -> None:
    """Descriptors are many, the file is one."""
    first = os.memfd_create("twice")
    second = os.dup(first)
    try:
        os.write(first, b"x" * (10 * MIB))
        with mmap.mmap(first, 10 * MIB):
            assert 10 * MIB <= memory_files([os.getpid()]) < 11 * MIB
    finally:
        os.close(first)
        os.close(second)


OWN = """
import os, sys
from pathlib import Path
from boundmark.benchmarks.running.execution.memory import OwnSharedMemory, shared_memory
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
