"""The warm process behind a `fork_server.ForkServer`.

It imports what its jobs need once, then forks a child for each request, enforces the child's limits
and reports how it ended. As the child's parent it can kill it without ever hitting another process
that got the same number. It runs no job itself and has one thread, so forking is safe.

When the control socket closes, because the client stopped or was killed, it kills whatever the
child has started and exits. If it cannot, its guard does: nothing is left behind.
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
from collections.abc import Mapping
from typing import Any, NoReturn

from boundmark.benchmarks.running.execution import child_process, processes
from boundmark.benchmarks.running.execution.memory import MemoryWatch, SharedMemory, shared_memory

# Reading the instance is not the method's time, but must end too.
PREPARATION_SECONDS = 120.0
LOOK_MILLISECONDS = 25
LARGEST_REQUEST = 2**17

# All that a client ever says while a child runs: that it has heard enough.
KILL = b"kill"


class _ClientGoneError(Exception):
    """The process that this one reports to has ended."""


def main(control_descriptor: str, lifeline_descriptor: str, job_module: str, argument: str) -> int:
    """Serve until the control socket closes.

    Parameters
    ----------
    lifeline_descriptor
        Of a pipe that closes when the client goes; for the guard.
    job_module
        Its `prepare(argument)` imports everything a job needs and returns the job.
    """
    stand_guard(int(lifeline_descriptor), int(control_descriptor))
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
        shared = shared_memory()
        # Keeps the garbage collector of each child from writing to, thus copying, shared pages.
        gc.collect()
        gc.freeze()
        control.send(json.dumps({"failed": None, "pid": os.getpid()}).encode())
        try:
            _serve(control, job, shared)
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


def _serve(control: socket.socket, job: child_process.Job, shared: SharedMemory) -> NoReturn:
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, LARGEST_REQUEST, 3)
        if not message:
            raise _ClientGoneError
        if not descriptors:  # A word about a child that had ended when it came.
            continue
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        request = json.loads(message)
        if isinstance(job, child_process.WarmingJob) and job.warm_up(request["job"]):
            _check_ready_to_fork()
            gc.collect()
            gc.freeze()
        reports, output, documents = descriptors
        clock, clock_end = os.pipe()
        server = os.getpid()
        shared.begin()
        pid = os.fork()
        if pid == 0:
            control.close()
            os.close(clock)
            ends = child_process.Descriptors(reports, output, documents, clock_end)
            child_process.run(job, request, ends, server)
        for descriptor in (*descriptors, clock_end):
            os.close(descriptor)
        try:
            ending = _watch(pid, control, clock, request, shared)
        finally:
            os.close(clock)
        shared.end()
        control.send(json.dumps(ending).encode())


class _Clock:
    """Times at which a child's job began and ended, as the child reports them.

    A job cannot end early by its own word: the last word counts.
    """

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.has_started = False
        self.end: float | None = None
        self.cpu_before = 0.0

    def read(self, descriptor: int) -> bool:
        """Read a message of the child; return whether more can come."""
        stamp = os.read(descriptor, child_process.CLOCK.size)
        if len(stamp) != child_process.CLOCK.size:
            return False
        which, at, cpu_seconds = child_process.CLOCK.unpack(stamp)
        if which == child_process.START and not self.has_started:
            self.start, self.cpu_before, self.has_started = at, cpu_seconds, True
        else:
            self.end = time.monotonic()
        return True


def _watch(
    pid: int,
    control: socket.socket,
    clock_descriptor: int,
    request: Mapping[str, Any],
    shared: SharedMemory,
) -> dict[str, Any]:
    """Wait for the child's end, or bring it about; then end all that it started."""
    handle = os.pidfd_open(pid)
    poller = select.poll()
    for source in (handle, control.fileno(), clock_descriptor):
        poller.register(source, select.POLLIN)
    clock, memory = _Clock(), MemoryWatch(request["memory_bytes"], shared.used_bytes)
    killed_by: str | None = None
    next_look = clock.start + LOOK_MILLISECONDS / 1000
    try:
        while True:
            ready = {source for source, _ in poller.poll(LOOK_MILLISECONDS)}
            if control.fileno() in ready:
                if control.recv(LARGEST_REQUEST) != KILL:
                    raise _ClientGoneError
                killed_by = killed_by or "client"
                processes.kill_group(pid)
            if clock_descriptor in ready and not clock.read(clock_descriptor):
                poller.unregister(clock_descriptor)
            if handle in ready:
                break
            # Whatever a child does to keep this process busy, it is looked at.
            if time.monotonic() < next_look or killed_by is not None:
                continue
            next_look = time.monotonic() + LOOK_MILLISECONDS / 1000
            if memory.exceeds(processes.descendants(os.getpid())):
                killed_by = "oom"
            elif time.monotonic() > clock.start + (
                request["seconds"] if clock.has_started else PREPARATION_SECONDS
            ):
                killed_by = "timeout" if clock.has_started else "preparation"
            if killed_by is not None:
                processes.kill_group(pid)
        end = time.monotonic()
        # While the leader is not reaped, its group's number cannot belong to anybody else.
        processes.kill_group(pid)
        while select.select([clock_descriptor], [], [], 0)[0] and clock.read(clock_descriptor):
            pass
    finally:
        os.close(handle)
    _, status, usage = os.wait4(pid, 0)
    used = [usage, *processes.end_children()]
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code >= 0 and clock.end is not None:
        end = clock.end
    if exit_code != -signal.SIGKILL:
        # It ended by itself just before it would have been killed.
        killed_by = None
    return {
        "exit_code": exit_code if exit_code >= 0 else None,
        "exit_signal": -exit_code if exit_code < 0 else None,
        "killed_by": killed_by,
        "started": clock.start,
        "seconds": max(0.0, end - clock.start),
        "cpu_seconds": max(0.0, sum(map(processes.cpu_seconds, used)) - clock.cpu_before),
        "peak_rss_bytes": max(memory.peak, *(one.ru_maxrss * 1024 for one in used)),
    }


def stand_guard(lifeline: int, *others: int) -> None:
    """Fork; return in the new process, and stay as its guard in this one.

    Parameters
    ----------
    lifeline
        End of a pipe whose other end closes when the client goes.
    others
        Descriptors that the guard must not keep open.
    """
    processes.adopt_orphans()
    guard = os.getpid()
    server = os.fork()
    if server == 0:
        os.close(lifeline)
        processes.die_with_parent(guard)
        return
    for descriptor in others:
        os.close(descriptor)
    for polite in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # It goes when its server does.
        signal.signal(polite, signal.SIG_IGN)
    poller = select.poll()
    poller.register(os.pidfd_open(server), select.POLLIN)
    poller.register(lifeline, select.POLLHUP)
    poller.poll()
    processes.end_children()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
