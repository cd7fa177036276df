"""The handle of a warm process that forks a child for every job."""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from boundmark.benchmarks.execution import frames, processes
from boundmark.benchmarks.execution.child_process import THREAD_VARIABLES
from boundmark.benchmarks.execution.ending import SERVER_DIED, Ending, Limits
from boundmark.benchmarks.execution.server_process import PREPARATION_SECONDS
from boundmark.problems.errors import BoundmarkError

TAIL_BYTES = 2**14
_CHUNK_BYTES = 2**16
# Beyond every limit that the server enforces: then it is the server that hangs.
_PATIENCE_SECONDS = 60.0


class ServerStoppedError(Exception):
    """The server was stopped from another thread."""


_Sink: TypeAlias = Callable[[bytes], None]


class _Reports:
    """Hands on frames until they become unreadable, and keeps the last one, on the end."""

    def __init__(self, on_frame: Callable[[frames.Frame], None]) -> None:
        self.end: Mapping[str, Any] | None = None
        self.is_damaged = False
        self._on_frame = on_frame
        self._reader = frames.FrameReader()

    def __call__(self, data: bytes) -> None:
        if self.is_damaged:
            return
        try:
            for frame in self._reader.feed(data):
                if frame.header["kind"] == "end":
                    self.end = frame.header
                else:
                    self._on_frame(frame)
        except frames.DamagedStreamError:
            self.is_damaged = True


class _Tail:
    """Keeps the end of what it is given."""

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
                    "boundmark.benchmarks.execution.server_process",
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
        self._ready = False
        self._stopped = False

    @property
    def is_dead(self) -> bool:
        """Whether the warm process has ended."""
        return self._process.poll() is not None

    @property
    def pid(self) -> int:
        """Number of the warm process."""
        return self._process.pid

    def run(
        self,
        job: Mapping[str, Any],
        limits: Limits,
        on_frame: Callable[[frames.Frame], None],
        documents: bytes = b"",
    ) -> Ending:
        """Do one job in a child and wait for its end.

        Parameters
        ----------
        job
            JSON values for the job.
        on_frame
            Called for every report, as it comes, except the one on the child's end.
        documents
            Bytes that the job can read, of any size.

        Raises
        ------
        BoundmarkError
            If the warm process cannot start.
        ServerStoppedError
            If `stop` was called.
        """
        self._wait_until_ready()
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
                frames.write_all(file, documents)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(
                        self._control,
                        [json.dumps(request).encode()],
                        [reports_end, output_end, file],
                    )
            patience = PREPARATION_SECONDS + limits.seconds + _PATIENCE_SECONDS
            child_reports, tail = _Reports(on_frame), _Tail()
            server_report = self._attend({reports: child_reports, output: tail}, patience)
        return Ending.of(
            server_report,
            child_reports.end,
            child_reports.is_damaged,
            tail.kept.decode(errors="replace"),
            limits,
        )

    def stop(self) -> None:
        """End the warm process and everything below it; another thread may be in `run`."""
        self._stopped = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop, wait for the warm process to end, and free everything."""
        self.stop()
        if not self._ready:  # It may be busy importing, and has no children yet.
            self._process.kill()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()

    def _wait_until_ready(self) -> None:
        if self._ready:
            return
        message = self._receive()
        if message is None:
            self.close()
            raise BoundmarkError("the process that runs the tasks ended before it was ready.")
        if message["failed"] is not None:
            self.close()
            raise BoundmarkError(
                f"the process that runs the tasks cannot start: {message['failed']}."
            )
        self._ready = True

    def _attend(self, pipes: Mapping[int, _Sink], patience: float) -> Mapping[str, Any]:
        """Read what the child reports and prints until the server says how it ended."""
        child: int | None = None
        poller = select.poll()
        for source in (*pipes, self._control.fileno()):
            poller.register(source, select.POLLIN)
        while True:
            ready = [source for source, _ in poller.poll(patience * 1000)]
            if not ready:
                self._process.kill()
            for source in ready:
                if source in pipes and _drain(source, pipes[source]):
                    poller.unregister(source)
            if self._control.fileno() in ready:
                message = self._receive()
                if message is None:
                    self.close()
                    # The kernel has killed the child, but not what the child had started.
                    if child is not None:
                        processes.kill_group(child)
                    message = SERVER_DIED
                if "pid" in message:
                    child = message["pid"]
                else:
                    break
        for source, sink in pipes.items():
            _drain(source, sink)
        return message

    def _receive(self) -> Mapping[str, Any] | None:
        """Return the server's next message, or None if it has died."""
        try:
            data = self._control.recv(_CHUNK_BYTES)
        except ConnectionResetError:
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


def _drain(descriptor: int, sink: _Sink) -> bool:
    """Hand on what is in the pipe; return whether that was the last of it."""
    while True:
        try:
            data = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not data:
            return True
        sink(data)
