"""The warm process behind a `fork_server.ForkServer`.

It imports what its jobs need once, then forks a child for each request, enforces the child's limits
and reports how it ended. As the child's parent it can kill it without ever hitting another process
that got the same number. It runs no job itself and has one thread, so forking is safe.

When the control socket closes, because the client stopped or was killed, it kills whatever the
child has started and exits: nothing is left behind.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from boundmark.benchmarks.execution import child_process, processes

# Reading the instance is not the method's time, but must end too.
PREPARATION_SECONDS = 120.0
LOOK_MILLISECONDS = 25
LARGEST_REQUEST = 2**17


class _ClientGoneError(Exception):
    """Nobody is left to report to."""


def main(control_descriptor: str, job_module: str, argument: str) -> int:
    """Serve until the control socket closes.

    Parameters
    ----------
    job_module
        Its `prepare(argument)` imports everything a job needs and returns the job.
    """
    with (
        contextlib.suppress(_ClientGoneError, BrokenPipeError, ConnectionResetError),
        socket.socket(fileno=int(control_descriptor)) as control,
    ):
        try:
            job = importlib.import_module(job_module).prepare(argument)
            _check_ready_to_fork()
        except Exception as error:
            control.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
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
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        request = json.loads(message)
        reports, output, documents = descriptors
        started, started_end = os.pipe()
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            control.close()
            os.close(started)
            ends = child_process.Descriptors(reports, output, documents, started_end)
            child_process.run(job, request, ends, server)
        for descriptor in (*descriptors, started_end):
            os.close(descriptor)
        control.send(json.dumps({"pid": pid}).encode())
        try:
            ending = _watch(pid, control, started, request)
        finally:
            os.close(started)
        control.send(json.dumps(ending).encode())


def _watch(
    pid: int, control: socket.socket, started: int, request: Mapping[str, Any]
) -> dict[str, Any]:
    """Wait for the child's end, or bring it about; then end all that it started."""
    handle = os.pidfd_open(pid)
    poller = select.poll()
    for source in (handle, control.fileno(), started):
        poller.register(source, select.POLLIN)
    start, cpu_before = time.monotonic(), 0.0
    deadline = start + PREPARATION_SECONDS
    limit = "preparation"
    killed_by: str | None = None
    peak = 0
    try:
        while True:
            ready = {source for source, _ in poller.poll(LOOK_MILLISECONDS)}
            if control.fileno() in ready:
                raise _ClientGoneError
            if started in ready:
                poller.unregister(started)
                if stamp := os.read(started, child_process.START.size):
                    start, cpu_before = child_process.START.unpack(stamp)
                    deadline = start + request["seconds"]
                    limit = "timeout"
            if handle in ready:
                break
            if not ready and killed_by is None:
                resident = processes.resident_bytes(processes.descendants(os.getpid()))
                peak = max(peak, resident)
                if resident > request["memory_bytes"]:
                    killed_by = "oom"
                elif time.monotonic() > deadline:
                    killed_by = limit
                if killed_by is not None:
                    processes.kill_group(pid)
        seconds = time.monotonic() - start
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
        "killed_by": killed_by,
        "seconds": seconds,
        "cpu_seconds": max(0.0, sum(map(processes.cpu_seconds, used)) - cpu_before),
        "peak_rss_bytes": max(peak, *(one.ru_maxrss * 1024 for one in used)),
    }


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
