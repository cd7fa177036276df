import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from boundmark.benchmarks.running.execution import processes

Eventually = Callable[[Callable[[], object]], None]
Marked = Callable[[str], list[int]]

GUARDED = """
import subprocess, sys, time
from boundmark.benchmarks.running.execution.server_process import stand_guard
stand_guard(int(sys.argv[1]))
sleep = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]
subprocess.Popen(sleep)
subprocess.Popen([sys.executable, "-S", "-c", f"import subprocess; subprocess.run({sleep})"],
                 start_new_session=True)
time.sleep(1000)
"""


@pytest.fixture
def guarded(
    monkeypatch: pytest.MonkeyPatch, marked: Marked, eventually: Eventually
) -> Iterator[tuple[subprocess.Popen[bytes], int, Callable[[], set[int]]]]:
    """Return a guard, its lifeline, and a function that lists the guard and all below it."""
    monkeypatch.setenv("MARK", marker := f"guarded-{os.getpid()}-{time.monotonic_ns()}")
    end, lifeline = os.pipe()
    guard = subprocess.Popen([sys.executable, "-c", GUARDED, str(end)], pass_fds=[end])
    os.close(end)

    def below() -> set[int]:
        return set(marked(marker)) - {os.getpid()}

    # The guard, the server, its child, and another with a child of its own.
    eventually(lambda: len(below()) == 5)
    yield guard, lifeline, below
    for pid in below():
        os.kill(pid, signal.SIGKILL)
    guard.wait()


def test_nothing_is_left_when_the_server_ends(
    guarded: tuple[subprocess.Popen[bytes], int, Callable[[], set[int]]],
) -> None:
    """Once the guard has ended, all below it has, in whatever session it was."""
    guard, lifeline, below = guarded
    (server,) = processes.children(guard.pid)
    os.kill(server, signal.SIGKILL)
    assert guard.wait() == 0
    assert below() == set()
    os.close(lifeline)


def test_nothing_is_left_when_the_client_goes(
    guarded: tuple[subprocess.Popen[bytes], int, Callable[[], set[int]]],
) -> None:
    """Even if the server has been stopped and notices nothing."""
    guard, lifeline, below = guarded
    (server,) = processes.children(guard.pid)
    os.kill(server, signal.SIGSTOP)
    os.close(lifeline)
    assert guard.wait() == 0
    assert below() == set()


def test_a_stopped_guard_can_be_done_without(
    guarded: tuple[subprocess.Popen[bytes], int, Callable[[], set[int]]],
) -> None:
    """What it has adopted is found and killed below it."""
    guard, lifeline, below = guarded
    os.kill(guard.pid, signal.SIGSTOP)
    processes.kill_descendants(guard.pid)
    assert below() == {guard.pid}
    os.close(lifeline)
