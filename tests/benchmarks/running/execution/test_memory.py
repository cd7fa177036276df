import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boundmark.benchmarks.running.execution import memory, processes
from boundmark.benchmarks.running.execution.memory import MemoryWatch, exact_bytes, resident_bytes

MIB = 2**20

Eventually = Callable[[Callable[[], object]], None]

START = "import mmap, os, time; MIB = 2**20\n"
WAIT = "\nprint('ready', flush=True); time.sleep(1000)"


@pytest.fixture
def start() -> Iterator[Callable[[str], int]]:
    """Return a function that runs some lines in a process of their own, which then waits."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", START + code + WAIT],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process.pid

    yield run
    for process in started:
        processes.kill_group(process.pid)
        process.communicate()


@pytest.mark.parametrize(
    "code",
    [
        "kept = b'x' * (100 * MIB)",
        "kept = mmap.mmap(-1, 100 * MIB); kept.write(b'x' * len(kept))",
    ],
    ids=["private", "shared"],
)
def test_the_limit_is_that_of_what_a_process_holds(start: Callable[[str], int], code: str) -> None:
    """A limit a little below is exceeded, one a little above is not."""
    pid = start(code)
    exact = exact_bytes([pid])
    # What it made, that which it was copied from, and the interpreter itself.
    assert 100 * MIB <= exact <= 230 * MIB
    assert not MemoryWatch(resident_bytes([pid]) + MIB).exceeds([pid])
    seen = MemoryWatch(exact - MIB)
    assert seen.exceeds([pid])
    assert seen.peak == pytest.approx(exact, abs=MIB)


def test_processes_count_together(start: Callable[[str], int]) -> None:
    """Each stays below a limit that both exceed."""
    two = [start("kept = b'x' * (100 * MIB)") for _ in range(2)]
    assert MemoryWatch(200 * MIB).exceeds(two)
    assert not MemoryWatch(200 * MIB).exceeds(two[:1])


def test_pages_that_two_share_count_once(
    start: Callable[[str], int],
    eventually: Eventually,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until the child writes to them: then they are its own."""
    monkeypatch.setattr(memory, "EXACT_SECONDS", 0.0)
    go = tmp_path / "go"
    pid = start(
        "kept = bytearray(b'x') * (100 * MIB)\n"
        "if os.fork() == 0:\n"
        f"    while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        "    kept[::4096] = b'y' * len(kept[::4096])\n"
        "    time.sleep(1000)"
    )
    both = [pid, *processes.children(pid)]
    seen = MemoryWatch(160 * MIB)
    assert resident_bytes(both) > 200 * MIB
    assert not seen.exceeds(both)
    go.touch()
    eventually(lambda: seen.exceeds(both))
    assert seen.peak > 160 * MIB


def test_a_process_that_is_gone_holds_nothing() -> None:
    """Processes may end while they are looked at."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    assert exact_bytes([child.pid]) == resident_bytes([child.pid]) == 0
    assert not MemoryWatch(1).exceeds([child.pid])


def test_a_system_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without exact sums, the others decide."""
    monkeypatch.setattr(memory, "exact_bytes", lambda pids: 0)
    assert MemoryWatch(MIB).exceeds([os.getpid()])
