"""Asks Linux about processes, and makes sure that they end."""

import contextlib
import ctypes
import os
import resource
import signal
import time
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # It ended before the line above.
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, even in another session."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a child subreaper")


def children(pid: int) -> list[int]:
    """Return the process's children; an empty list if it has ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def descendants(pid: int) -> list[int]:
    """Return the process's children, their children, and so on."""
    found: list[int] = []
    ahead = children(pid)
    while ahead:
        child = ahead.pop()
        found.append(child)
        ahead += children(child)
    return found


def virtual_bytes() -> int:
    """Return the size of this process's address space."""
    return int(Path("/proc/self/statm").read_bytes().split()[0]) * _PAGE_BYTES


def state(pid: int) -> str:
    """Return the letter of a process's state as in ``ps``, ``"X"`` if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def kill_group(leader: int) -> None:
    """Kill a process and everything in the process group that it leads."""
    for kill in (os.kill, os.killpg):
        with contextlib.suppress(ProcessLookupError):
            kill(leader, signal.SIGKILL)


def end_children() -> list[resource.struct_rusage]:
    """Kill and reap all children, adopted ones included."""
    used: list[resource.struct_rusage] = []
    while True:
        # Not a blocking wait: the kernel's list may lack a child that was adopted meanwhile.
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return used
        if pid:
            used.append(usage)
            continue
        for child in children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def cpu_seconds(usage: resource.struct_rusage) -> float:
    """Return user and system time together."""
    return usage.ru_utime + usage.ru_stime
