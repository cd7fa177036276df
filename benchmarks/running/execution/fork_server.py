"""The handle of a warm process that forks a child for every job."""

import contextlib
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from boundmark.benchmarks.running.execution.child_process import LONGEST_DETAIL, THREAD_VARIABLES
from boundmark.benchmarks.running.execution.frames import Frame, FrameReader, shortened, write_all
from boundmark.problems.errors import BoundmarkError
from boundmark.reports.stored.statuses import Status

TAIL_BYTES = 2**14
_CHUNK_BYTES = 2**16
# Reading the instance is not the method's time, but must end too.
PREPARATION_SECONDS = 120.0
# In which a warm process ends that is no longer needed.
PATIENCE_SECONDS = 5.0

# Seconds for which a poll waits at most: it takes 32-bit milliseconds.
_LONGEST_WAIT = 1e6

UNCHECKED = "what it found last was not checked, because the time was up"


@dataclass(frozen=True)
class Limits:
    """Limits of a child: wall time from its start, resident memory, threads."""

    seconds: float
    memory_bytes: int
    threads: int


@dataclass(frozen=True)
class Ending:
    """The end of a child process.

    Attributes
    ----------
    exit_code, exit_signal
        Both None if not known.
    started, seconds
        When the job began, by `time.monotonic()`, and how long it took.
    output_tail
        End of standard output and standard error.
    """

    status: Status
    detail: str
    exit_code: int | None
    exit_signal: int | None
    started: float
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    output_tail: str

    @classmethod
    def without_last_reports(cls, started: float, known: "Ending | None") -> "Ending":
        """Return the ending of a child whose last reports were not checked."""
        if known is not None:
            return replace(known, status="timeout", detail=UNCHECKED)
        return cls(
            "timeout", UNCHECKED, None, None, started, time.monotonic() - started, 0.0, 0, ""
        )


def _reason(report: Mapping[str, Any], output_tail: str, limits: Limits) -> tuple[Status, str]:
    """Return why a child that says nothing about it has ended."""
    match report["killed_by"]:
        case "timeout":
            return "timeout", f"killed after {limits.seconds:g} s"
        case "oom":
            return "oom", f"killed with more than {limits.memory_bytes} bytes in memory"
        case "preparation":
            return "error", f"killed after {PREPARATION_SECONDS:g} s of preparation"
        case "server":
            return "crashed", "the supervising process died"
    if report["exit_signal"] is None:
        return "crashed", f"exited with code {report['exit_code']} before it was done"
    if report["exit_signal"] == signal.SIGABRT and "std::bad_alloc" in output_tail:
        return "oom", "an allocation failed under the memory limit"
    return "crashed", f"died of {signal.Signals(report['exit_signal']).name}"


@cache
def _warn_once(warning: str) -> None:
    """Log what several servers may say."""
    logging.getLogger("boundmark").warning("warning: %s", warning)


class ServerStoppedError(Exception):
    """The server was stopped from another thread."""


_Sink: TypeAlias = Callable[[bytes], None]


class _Stream:
    """Parses the child's frames and forwards each.

    Attributes
    ----------
    start, end
        Headers of the reports on the job's start and end, if it came to that.
    fault
        Why the reports cannot be read from some point on, as where two processes write them.
    """

    def __init__(self, on_frame: Callable[[Frame], None]) -> None:
        self.start: Mapping[str, Any] | None = None
        self.end: Mapping[str, Any] | None = None
        self.fault: str | None = None
        self._on_frame = on_frame
        self._reader = FrameReader()

    def __call__(self, data: bytes) -> None:
        if self.fault is not None:
            return
        try:
            for frame in self._reader.feed(data):
                self._take(frame)
        except (ValueError, KeyError, TypeError) as error:
            self.fault = f"{type(error).__name__}: {error}"

    def _take(self, frame: Frame) -> None:
        if frame.kind == "start":
            self.start = frame.header
        elif frame.kind == "end":
            self.end = frame.header
        else:
            self._on_frame(frame)


class _Tail:
    """Keeps the last bytes that it receives."""

    def __init__(self) -> None:
        self.kept = b""

    def __call__(self, data: bytes) -> None:
        self.kept = (self.kept + data)[-TAIL_BYTES:]


class ForkServer:
    """A warm process and the connection to it. One thread at a time may call `run`.

    Parameters
    ----------
    job_module
        Module with a function `prepare(argument)` that returns a `child_process.Job`.
    """

    def __init__(self, job_module: str, argument: str = "") -> None:
        self._control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with end:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "boundmark.benchmarks.running.execution.server_process",
                    str(end.fileno()),
                    job_module,
                    argument,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[end.fileno()],
                # Ctrl-C in a terminal is for the client alone.
                start_new_session=True,
                env={
                    **os.environ,
                    **dict.fromkeys((*THREAD_VARIABLES, "NUMBA_NUM_THREADS"), "1"),
                    # The order of sets must not depend on which server a task runs.
                    "PYTHONHASHSEED": "0",
                    # Solvers import pandas, and that pyarrow, whose allocator would start a thread.
                    "JE_ARROW_MALLOC_CONF": "background_thread:false",
                },
            )
        self._is_ready = False
        self._warmed: set[str] = set()
        self._is_warming = False
        self._stopped = False
        self._closed = False

    @property
    def is_dead(self) -> bool:
        """Whether the warm process has ended."""
        if self._closed:
            return True
        try:
            return not self._control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    @property
    def pid(self) -> int:
        """Number of the warm process."""
        return self._process.pid

    def run(
        self,
        job: Mapping[str, Any],
        limits: Limits,
        on_frame: Callable[[Frame], None],
        documents: bytes = b"",
    ) -> Ending:
        """Do one job in a child and wait for its end."""
        self.wait_until_ready()
        request = {
            "job": dict(job),
            "seconds": limits.seconds,
            "memory_bytes": limits.memory_bytes,
            "threads": limits.threads,
        }
        with contextlib.ExitStack() as stack:
            reports, reports_end = _pipe(stack)
            output, output_end = _pipe(stack)
            with contextlib.ExitStack() as sent:
                sent.callback(os.close, reports_end)
                sent.callback(os.close, output_end)
                file = os.memfd_create("documents")
                sent.callback(os.close, file)
                write_all(file, documents)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(
                        self._control,
                        [json.dumps(request).encode()],
                        [reports_end, output_end, file],
                    )
            stream, tail = _Stream(on_frame), _Tail()
            asked = time.monotonic()
            try:
                report = self._wait_for_child({reports: stream, output: tail}, stream, limits)
            except BaseException:
                # The child may still run, and the server is out of step.
                self.close()
                raise
        output_tail = shortened(tail.kept.decode(errors="replace"), 4 * TAIL_BYTES)
        status, detail = _reason(report, output_tail, limits)
        if stream.fault is not None:
            status, detail = "error", f"its reports are unreadable: {stream.fault}"
        elif stream.end is not None and report["exit_code"] is not None:
            status, detail = stream.end["status"], stream.end["detail"]
        start = stream.start or {"at": asked, "cpu": 0.0}
        ended = report["ended"]
        if report["exit_code"] is not None and stream.end is not None:
            ended = stream.end["at"] or ended
        return Ending(
            status,
            shortened(detail, LONGEST_DETAIL),
            report["exit_code"],
            report["exit_signal"],
            start["at"],
            max(0.0, ended - start["at"]),
            max(0.0, report["cpu_seconds"] - start["cpu"]),
            report["peak_rss_bytes"],
            output_tail,
        )

    def begin_warming(self, names: Iterable[str]) -> None:
        """Ask the warm process to import what jobs of these names need."""
        new = [name for name in names if name not in self._warmed]
        if not new:
            return
        self._warmed.update(new)
        self._is_warming = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(json.dumps({"warm": new}).encode())

    def end_warming(self) -> float:
        """Return once that is imported, with the seconds of compiling in it."""
        self.wait_until_ready()
        if not self._is_warming:
            return 0.0
        # A process that has died meanwhile is noticed when it is given a job.
        message = self._receive() or {"failed": None, "compile_seconds": 0.0}
        self._is_warming = False
        self._check(message)
        if message.get("warning"):
            _warn_once(message["warning"])
        return float(message["compile_seconds"])

    def stop(self) -> None:
        """End the warm process and everything below it; another thread may be in `run`."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop, wait until nothing is left below this handle, and free everything."""
        self.stop()
        if self._closed:
            return
        self._closed = True
        if self._is_warming:
            # It would hear only when all is imported.
            self._process.kill()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()

    def wait_until_ready(self) -> None:
        """Return once the warm process has imported its job's module."""
        if self._is_ready:
            return
        self._check(self._receive() or {"failed": "it ended before it was ready"})
        self._is_ready = True

    def _check(self, message: Mapping[str, Any]) -> None:
        """Raise an error if the warm process says that it cannot run jobs."""
        if message["failed"] is not None:
            self.close()
            raise BoundmarkError(
                f"the process that runs the tasks cannot start: {message['failed']}."
            )

    def _wait_for_child(
        self, pipes: Mapping[int, _Sink], stream: _Stream, limits: Limits
    ) -> Mapping[str, Any]:
        """Read what the child reports and prints until the server says how it ended.

        When the child's time is up, the server is told to kill it.
        """
        deadline, why = time.monotonic() + PREPARATION_SECONDS, b"preparation"
        poller = select.poll()
        for source in (*pipes, self._control.fileno()):
            poller.register(source, select.POLLIN)
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready = [source for source, _ in poller.poll(1000 * min(left, _LONGEST_WAIT))]
            for source in ready:
                if source in pipes and _forward(source, pipes[source]):
                    poller.unregister(source)
            if stream.start is not None and why == b"preparation":
                deadline, why = stream.start["at"] + limits.seconds, b"timeout"
            if self._control.fileno() in ready:
                report = self._receive() or self._without_server(stream)
                break
            if time.monotonic() >= deadline:
                deadline = float("inf")
                with contextlib.suppress(OSError):
                    self._control.send(why)
        # All writers are gone.
        for source, sink in pipes.items():
            while not _forward(source, sink):
                if not select.select([source], [], [], 0)[0]:
                    break
        return report

    def _without_server(self, stream: _Stream) -> Mapping[str, Any]:
        """End a child whose server has died, and return a report: nothing was measured."""
        if stream.start is not None:
            # The kernel has killed the child itself, but not what that has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(stream.start["pid"], signal.SIGKILL)
        self.close()
        return {
            "exit_code": None,
            "exit_signal": None,
            "killed_by": "server",
            "ended": time.monotonic(),
            "cpu_seconds": 0.0,
            "peak_rss_bytes": 0,
        }

    def _receive(self) -> Mapping[str, Any] | None:
        """Return the server's next message, or None if it has died."""
        try:
            data = self._control.recv(_CHUNK_BYTES)
        except OSError:
            data = b""
        if self._stopped:
            raise ServerStoppedError
        if not data:
            return None
        message: Mapping[str, Any] = json.loads(data)
        return message


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    """Return a pipe's two ends; the reading one does not block and closes with the stack."""
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    os.set_blocking(reading, False)
    return reading, writing


def _forward(descriptor: int, sink: _Sink) -> bool:
    """Forward what the pipe holds now; return whether its other end is closed."""
    try:
        data = os.read(descriptor, _CHUNK_BYTES)
    except BlockingIOError:
        return False
    if not data:
        return True
    sink(data)
    return False
