"""Runs one job in a forked, isolated child, which reports how the job ended and exits."""

import contextlib
import errno
import faulthandler
import importlib
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias, runtime_checkable

import boundmark
from boundmark.benchmarks.running.execution import frames, processes
from boundmark.benchmarks.running.execution.frames import shortened
from boundmark.problems.errors import BoundmarkError, UnsupportedError

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
    """

    reports: int
    output: int
    documents: int


class Channel:
    """Connection from a job to the process that asked for it."""

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors

    def start(self) -> float:
        """Start the clock: what came before was preparation. Returns `time.monotonic()`."""
        at = time.monotonic()
        self.report({"kind": "start", "pid": os.getpid(), "at": at, "cpu": time.process_time()})
        return at

    def report(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Send a frame; once this returns it counts, even if the process dies."""
        frames.write_all(self._descriptors.reports, frames.encode(header, body))

    def documents(self) -> bytes:
        """Return the documents that came with the request; may be called once."""
        with open(self._descriptors.documents, "rb") as file:
            file.seek(0)
            return file.read()


Job: TypeAlias = Callable[[Mapping[str, Any], Channel], None]


@runtime_checkable
class WarmingJob(Protocol):
    """A job that prepares for requests in the warm process, before children are forked."""

    def warm_up(self, names: Sequence[str]) -> tuple[float, str]:
        """Import what requests of these names need.

        Returns
        -------
        tuple
            The seconds of compiling in that, and what to warn of, empty for nothing.
        """


def run(job: Job, request: Mapping[str, Any], descriptors: Descriptors, server: int) -> NoReturn:
    """Do a job and end the process, whatever happens.

    The last frame is ``{"kind": "end", "status": ..., "detail": ..., "at": ...}``; a child that
    dies sends none.
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
        except UnsupportedError as error:
            frames.write_all(descriptors.reports, _end("unsupported", str(error), time.monotonic()))
        except BaseException as error:
            no_memory = isinstance(error, MemoryError) or (
                isinstance(error, OSError) and error.errno == errno.ENOMEM
            )
            at = time.monotonic()
            last_word = out_of_memory if no_memory else _end("error", describe_error(error), at)
            frames.write_all(descriptors.reports, last_word)
            with contextlib.suppress(MemoryError):
                traceback.print_exc()
        else:
            frames.write_all(descriptors.reports, _end("ok", "", time.monotonic()))
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


def _end(status: str, detail: str, at: float | None) -> bytes:
    # What a method raises may be long, or no valid text.
    short = shortened(detail, LONGEST_DETAIL)
    return frames.encode({"kind": "end", "status": status, "detail": short, "at": at})


def describe_error(error: BaseException) -> str:
    """Return an error in one sentence, as rows state it, with the method's line where it arose."""
    if isinstance(error, BoundmarkError):
        return str(error)
    sentence = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    calls = traceback.extract_tb(error.__traceback__)
    # The method's own line says more than that of a library which it called.
    file = next((call.filename for call in calls if not _calls_methods(call.filename)), None)
    line = next((call.lineno for call in reversed(calls) if call.filename == file), None)
    return sentence if file is None else f"{sentence} ({Path(file).name}, line {line})"


def _calls_methods(file: str) -> bool:
    """Whether a file is one of those that import and call methods."""
    ours = Path(boundmark.__file__).parent
    folders = (ours / "benchmarks", ours / "problems", Path(importlib.__file__).parent)
    return file.startswith("<") or any(Path(file).is_relative_to(one) for one in folders)
