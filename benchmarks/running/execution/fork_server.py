"""The handle of a warm process that forks a child for every job."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from boundmark.benchmarks.running.execution import processes
from boundmark.benchmarks.running.execution.child_process import (
    EXIT_CODES,
    LONGEST_DETAIL,
    THREAD_VARIABLES,
)
from boundmark.benchmarks.running.execution.frames import (
    BadReportError,
    Frame,
    FrameReader,
    shortened,
    write_all,
)
from boundmark.benchmarks.running.execution.server_process import KILL, PREPARATION_SECONDS
from boundmark.problems.errors import BoundmarkError
from boundmark.reports.stored.schema import Status

TAIL_BYTES = 2**14
_CHUNK_BYTES = 2**16
# In the environment of a warm process and of everything that it starts.
_MARK = "BOUNDMARK_SERVER"
# Beyond the limits that the server enforces: then it is the server that hangs.
PATIENCE_SECONDS = 5.0
# Time between two looks at whether the server has been stopped.
LOOK_SECONDS = 1.0


def _unmeasured(killed_by: str) -> Mapping[str, Any]:
    """Return a report on a child that its server could not write: nothing was measured."""
    return {
        "exit_code": None,
        "exit_signal": None,
        "killed_by": killed_by,
        "cpu_seconds": 0.0,
        "peak_rss_bytes": 0,
    }


SERVER_DIED = _unmeasured("server")
SERVER_STOPPED = _unmeasured("stop")
SERVER_HANGS = _unmeasured("watch")


UNCHECKED = "what it found last was not checked, because the time was up"


@dataclass(frozen=True)
class Limits:
    """Limits of a child: wall time from its start, resident memory, threads."""

    seconds: float
    memory_bytes: int
    threads: int


@dataclass(frozen=True)
class Ending:
    """How a child ended.

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
    def of(
        cls,
        server_report: Mapping[str, Any],
        last_frame: Mapping[str, Any] | None,
        fault: str | None,
        output_tail: str,
        limits: Limits,
    ) -> "Ending":
        """Combine the reports of server and child; all numbers are the server's.

        Parameters
        ----------
        server_report
            What the server says, or one of the above.
        last_frame
            Header of the child's last frame, if it came to that.
        fault
            Why the child's reports are no reports, if some are not.
        """
        status, detail = _reason(server_report, output_tail, limits)
        if fault is not None:
            status, detail = "error", f"its reports are unreadable: {fault}"
        elif (
            last_frame is not None
            and server_report["exit_code"] == EXIT_CODES[last_frame["status"]]
        ):
            status, detail = last_frame["status"], last_frame["detail"]
        return cls(
            status,
            shortened(detail, LONGEST_DETAIL),
            server_report["exit_code"],
            server_report["exit_signal"],
            server_report["started"],
            server_report["seconds"],
            server_report["cpu_seconds"],
            server_report["peak_rss_bytes"],
            output_tail,
        )

    @classmethod
    def without_last_reports(cls, started: float, known: "Ending | None") -> "Ending":
        """Return the ending of a child whose last reports were not checked.

        Parameters
        ----------
        started
            When it was asked to run, by `time.monotonic()`.
        known
            How it ended, if it has.
        """
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
        case "stop":
            return "error", "killed because the supervising process had been stopped"
        case "watch":
            return "timeout", f"killed some time after {limits.seconds:g} s by the runner"
    if report["exit_signal"] is None:
        return "crashed", f"exited with code {report['exit_code']} before it was done"
    if report["exit_signal"] == signal.SIGABRT and "std::bad_alloc" in output_tail:
        return "oom", "an allocation failed under the memory limit"
    return "crashed", f"died of {signal.Signals(report['exit_signal']).name}"


class ServerStoppedError(Exception):
    """The server was stopped from another thread."""


class ServerDiedError(BoundmarkError):
    """The server died before it was ready, and reported no reason."""


_Sink: TypeAlias = Callable[[bytes], None]


class _Stream:
    """Parse the child's frames and forward each; stop at the first malformed one.

    Attributes
    ----------
    started
        Whether the job has begun.
    end
        The report on the job's end, if it came to that.
    fault
        Why the reports cannot be believed from some point on, else None.
    """

    def __init__(self, on_frame: Callable[[Frame], None]) -> None:
        self.started: float | None = None
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
        except BadReportError as error:
            self.fault = str(error)

    def _take(self, frame: Frame) -> None:
        if self.end is not None:
            raise BadReportError("one came after the end")
        if frame.kind == "start":
            self.started = self.started or time.monotonic()
        elif frame.kind != "end":
            self._on_frame(frame)
        elif frame.header.get("status") not in list(EXIT_CODES):
            raise BadReportError("the one on the end has no known status")
        elif not isinstance(frame.header.get("detail"), str):
            raise BadReportError("the one on the end has no detail")
        else:
            self.end = frame.header


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
        # Should even the guard be killed, what it has adopted comes here.
        processes.adopt_orphans()
        self._mark = f"{_MARK}={uuid.uuid4().hex}"
        lifeline_end, self._lifeline = os.pipe()
        self._control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with end:
            self._guard = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "boundmark.benchmarks.running.execution.server_process",
                    str(end.fileno()),
                    str(lifeline_end),
                    job_module,
                    argument,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[end.fileno(), lifeline_end],
                # Ctrl-C in a terminal is for the client alone.
                start_new_session=True,
                env={
                    **os.environ,
                    **dict.fromkeys((*THREAD_VARIABLES, "NUMBA_NUM_THREADS"), "1"),
                    # The order of sets must not depend on which server a task runs.
                    "PYTHONHASHSEED": "0",
                    # Solvers import pandas, and that pyarrow, whose allocator would start a thread.
                    "JE_ARROW_MALLOC_CONF": "background_thread:false",
                    **dict([self._mark.split("=")]),
                },
            )
        os.close(lifeline_end)
        self._server: int | None = None
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
    def pids(self) -> tuple[int, ...]:
        """Numbers of the guard and, once it is ready, of the warm process."""
        return (self._guard.pid,) if self._server is None else (self._guard.pid, self._server)

    def run(
        self,
        job: Mapping[str, Any],
        limits: Limits,
        on_frame: Callable[[Frame], None],
        documents: bytes = b"",
    ) -> Ending:
        """Do one job in a child and wait for its end.

        Parameters
        ----------
        job
            JSON values for the job.
        on_frame
            Called for every report, as it comes, except those on the child's start and end. If it
            raises `BadReportError`, the child is killed.
        documents
            Bytes that the job can read, of any size.

        Raises
        ------
        BoundmarkError
            If the warm process cannot start.
        ServerStoppedError
            If `stop` was called.
        """
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
            try:
                server_report = self._wait_for_child(
                    {reports: stream, output: tail}, stream, limits
                )
            except BaseException:
                # The child may still run, and the server is out of step.
                self.close()
                raise
        return Ending.of(
            server_report,
            stream.end,
            stream.fault,
            shortened(tail.kept.decode(errors="replace"), 4 * TAIL_BYTES),
            limits,
        )

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
        # The guard ends all that is there, and then itself.
        os.close(self._lifeline)
        try:
            self._guard.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            # Somebody has stopped it.
            processes.kill_descendants(self._guard.pid)
            self._guard.kill()
            self._guard.wait()
        if self._guard.returncode != 0:
            processes.end_marked_descendants(self._mark)
        self._control.close()

    def wait_until_ready(self) -> None:
        """Return once the warm process has imported its job's modules.

        Raises
        ------
        BoundmarkError
            If it cannot.
        ServerStoppedError
            If `stop` was called.
        """
        if self._server is not None:
            return
        message = self._receive()
        if message is None:
            self.close()
            raise ServerDiedError("the process that runs the tasks ended before it was ready.")
        if message["failed"] is not None:
            self.close()
            raise BoundmarkError(
                f"the process that runs the tasks cannot start: {message['failed']}."
            )
        self._server = message["pid"]

    def _wait_for_child(
        self, pipes: Mapping[int, _Sink], stream: _Stream, limits: Limits
    ) -> Mapping[str, Any]:
        """Read what the child reports and prints until the server says how it ended.

        The server enforces the limits, but the child could have stopped it. So this process keeps
        a deadline of its own, and looks whether the server still runs.
        """
        sent = time.monotonic()
        next_look = sent + LOOK_SECONDS
        told = False
        poller = select.poll()
        for source in (*pipes, self._control.fileno()):
            poller.register(source, select.POLLIN)
        while True:
            ready = [source for source, _ in poller.poll(LOOK_SECONDS * 1000)]
            for source in ready:
                if source in pipes and _forward(source, pipes[source]):
                    poller.unregister(source)
            if self._control.fileno() in ready:
                report = self._receive() or SERVER_DIED
                break
            if stream.fault is not None and not told:
                told = True
                with contextlib.suppress(OSError):
                    self._control.send(KILL)
            now = time.monotonic()
            if stream.started is None:
                deadline = sent + PREPARATION_SECONDS
            else:
                deadline = stream.started + limits.seconds
            if now > deadline + PATIENCE_SECONDS:
                report = SERVER_HANGS
                break
            if now > next_look:
                if any(map(processes.is_stopped, self.pids)):
                    report = SERVER_STOPPED
                    break
                next_look = now + LOOK_SECONDS
        if "seconds" not in report:
            ended = time.monotonic()
            self.close()
            started = stream.started or sent
            report = {**report, "started": started, "seconds": ended - started}
        # All writers are gone.
        for source, sink in pipes.items():
            while not _forward(source, sink):
                if not select.select([source], [], [], 0)[0]:
                    break
        return report

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
