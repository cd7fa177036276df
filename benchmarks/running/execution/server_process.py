"""The warm process behind a `fork_server.ForkServer`.

It imports what jobs need when it is told to, forks a child for each request, enforces the child's
memory limit, kills it when its client says that its time is up, and reports how it ended. As the
child's parent it can kill it without ever hitting another process that got the same number. It runs
no job itself and has one thread, so forking is safe.

When the control socket closes, because the client stopped or was killed, it kills whatever the
child has started and exits: nothing is left behind.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from boundmark.benchmarks.running.execution import child_process, processes
from boundmark.benchmarks.running.execution.memory import MemoryWatch

LOOK_MILLISECONDS = 25
LARGEST_REQUEST = 2**17


class _ClientGoneError(Exception):
    """The process that this one reports to has ended."""


def main(control_descriptor: str, job_module: str, argument: str) -> int:
    """Serve until the control socket closes."""
    with (
        contextlib.suppress(_ClientGoneError, BrokenPipeError, ConnectionResetError),
        socket.socket(fileno=int(control_descriptor)) as control,
    ):
        try:
            job = importlib.import_module(job_module).prepare(argument)
            _check_ready_to_fork()
        except Exception as error:
            control.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
            # To end while words of the client wait unread would take this one from it.
            while control.recv(LARGEST_REQUEST):
                pass
            return 1
        processes.adopt_orphans()
        # Keeps the garbage collector of each child from writing to, thus copying, shared pages.
        gc.collect()
        gc.freeze()
        control.send(json.dumps({"failed": None}).encode())
        try:
            _serve(control, job)
        finally:
            processes.end_children()
    return 0


def _check_ready_to_fork() -> None:
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise RuntimeError(
            f"importing the methods started {threads - 1} threads; expected none, because "
            "processes are forked from here (import such libraries inside the method)"
        )


def _serve(control: socket.socket, job: child_process.Job) -> NoReturn:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, LARGEST_REQUEST, 3)
        if not message:
            raise _ClientGoneError
        if not descriptors:
            # Else it is a word about a child that had ended when it came.
            if message.startswith(b"{"):
                control.send(json.dumps(_warm_up(job, json.loads(message)["warm"])).encode())
            continue
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        request = json.loads(message)
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            control.close()
            child_process.run(job, request, child_process.Descriptors(*descriptors), server)
        for descriptor in descriptors:
            os.close(descriptor)
        ending = _watch(pid, control, request["memory_bytes"])
        control.send(json.dumps(ending).encode())


def _warm_up(job: child_process.Job, names: list[str]) -> dict[str, Any]:
    """Import what jobs of these names need; return how that went."""
    try:
        seconds, warning = 0.0, ""
        if isinstance(job, child_process.WarmingJob):
            seconds, warning = job.warm_up(names)
        _check_ready_to_fork()
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    gc.collect()
    gc.freeze()
    return {"failed": None, "compile_seconds": seconds, "warning": warning}


def _watch(pid: int, control: socket.socket, memory_bytes: int) -> dict[str, Any]:
    """Wait for the child's end, or bring it about; then end all that it started."""
    handle = os.pidfd_open(pid)
    poller = select.poll()
    for source in (handle, control.fileno()):
        poller.register(source, select.POLLIN)
    memory = MemoryWatch(memory_bytes)
    killed_by: str | None = None
    try:
        while True:
            ready = {source for source, _ in poller.poll(LOOK_MILLISECONDS)}
            if handle in ready:
                break
            if control.fileno() in ready:
                why = control.recv(LARGEST_REQUEST)
                if not why:
                    raise _ClientGoneError
                killed_by = killed_by or why.decode()
            elif killed_by is None and memory.exceeds(processes.descendants(os.getpid())):
                killed_by = "oom"
            if killed_by is not None:
                processes.kill_group(pid)
        ended = time.monotonic()
        # While the leader is not reaped, its group's number cannot belong to anybody else.
        processes.kill_group(pid)
    finally:
        os.close(handle)
    _, status, usage = os.wait4(pid, 0)
    used = [usage, *processes.end_children()]
    exit_code = os.waitstatus_to_exitcode(status)
    return {
        "exit_code": exit_code if exit_code >= 0 else None,
        "exit_signal": -exit_code if exit_code < 0 else None,
        # Otherwise it ended by itself just before it would have been killed.
        "killed_by": killed_by if exit_code == -signal.SIGKILL else None,
        "ended": ended,
        "cpu_seconds": sum(map(processes.cpu_seconds, used)),
        "peak_rss_bytes": max(memory.peak, *(one.ru_maxrss * 1024 for one in used)),
    }


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
