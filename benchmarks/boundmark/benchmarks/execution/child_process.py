"""What a forked child is: an isolated process that does one job, says how it went, and exits."""

import contextlib
import faulthandler
import os
import resource
import struct
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from boundmark.benchmarks.execution import frames, processes
from boundmark.problems.errors import BoundmarkError, UnsupportedError

# What a child tells its server when its job starts: `time.monotonic()`, CPU seconds used before.
START = struct.Struct("<dd")

LONGEST_DETAIL = 1000

# Read by libraries that are loaded later; what the server has loaded, such as numpy's BLAS and
# numba, stays at one thread.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class Descriptors:
    """The child's open files.

    Attributes
    ----------
    reports
        Pipe for frames.
    output
        Pipe for standard output and standard error.
    documents
        File with what the job is about, beyond its request.
    started
        Pipe to the server, which starts its clock when the job does.
    """

    reports: int
    output: int
    documents: int
    started: int


class Channel:
    """A job's way to the outside."""

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self.started: float | None = None

    def start(self) -> float:
        """Start the clock: what came before was preparation. Returns `time.monotonic()`."""
        self.started = time.monotonic()
        os.write(self._descriptors.started, START.pack(self.started, time.process_time()))
        return self.started

    def report(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Send a frame; once this returns it counts, even if the process dies."""
        frames.write_all(self._descriptors.reports, frames.encode(header, body))

    def documents(self) -> bytes:
        """Return what the client sent along with the request."""
        size = os.fstat(self._descriptors.documents).st_size
        return os.pread(self._descriptors.documents, size, 0)


Job: TypeAlias = Callable[[Mapping[str, Any], Channel], None]


def run(job: Job, request: Mapping[str, Any], descriptors: Descriptors, server: int) -> NoReturn:
    """Do a job and end the process, whatever happens.

    The last frame is ``{"kind": "end", "status": ..., "detail": ..., "seconds": ...}``, where the
    seconds may be null; a child that dies sends none.
    """
    code = 1
    try:
        _isolate(server, descriptors.output)
        _limit(request["threads"], request["memory_bytes"])
        channel = Channel(descriptors)
        # Encoded before memory is short.
        out_of_memory = _end("oom", "an allocation failed under the memory limit", None)
        try:
            job(request["job"], channel)
        except MemoryError:
            frames.write_all(descriptors.reports, out_of_memory)
            with contextlib.suppress(MemoryError):
                traceback.print_exc()
        except UnsupportedError as error:
            frames.write_all(descriptors.reports, _end("unsupported", str(error), _age(channel)))
        except BaseException as error:
            frames.write_all(descriptors.reports, _end("error", _sentence(error), _age(channel)))
            traceback.print_exc()
        else:
            frames.write_all(descriptors.reports, _end("ok", "", _age(channel)))
            code = 0
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # No finalisers: they belong to the server, or would run outside the limits.
        os._exit(code)


def _isolate(server: int, output: int) -> None:
    os.setsid()
    processes.die_with_parent(server)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.enable()


def _limit(threads: int, memory_bytes: int) -> None:
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    # The server watches what is resident; this stops a process that grows faster than it looks.
    address_space = processes.virtual_bytes() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))


def _end(status: str, detail: str, seconds: float | None) -> bytes:
    # What a method raises may be long, or no valid text.
    short = detail.encode(errors="replace")[:LONGEST_DETAIL].decode(errors="ignore")
    return frames.encode({"kind": "end", "status": status, "detail": short, "seconds": seconds})


def _age(channel: Channel) -> float:
    return 0.0 if channel.started is None else time.monotonic() - channel.started


def _sentence(error: BaseException) -> str:
    if isinstance(error, BoundmarkError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
