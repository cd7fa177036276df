"""Runs a task in the calling process, for methods that need a fraction of a second.

The processes that enforce limits take longer to start than such a method to run. What it reports is
judged as anywhere else: by the checker, which depends on nothing and is no part of any method. A
method that takes too long is ended between two steps of Python; its memory is not limited, and the
peak that is reported is the whole process's.
"""

import gc
import resource
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from types import FrameType
from typing import Any

from boundmark.benchmarks.running.execution import verification, verification_job
from boundmark.benchmarks.running.execution.child_process import LONGEST_DETAIL, describe_error
from boundmark.benchmarks.running.execution.fork_server import Ending
from boundmark.benchmarks.running.execution.frames import Frame, shortened
from boundmark.benchmarks.running.execution.method_job import StreamedProgress, check_method
from boundmark.benchmarks.running.execution.supervisor import GRACE_SECONDS
from boundmark.benchmarks.running.execution.task import Outcome, Task
from boundmark.benchmarks.running.execution.verification import Reports, outcome_of
from boundmark.bounds import checker
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.problems.method import Budget, Method
from boundmark.problems.problem import Instance
from boundmark.reports.stored.statuses import Status


def run_here(
    task: Task,
    method: Method,
    instance: Instance,
    *,
    is_limited: bool = True,
    grace_seconds: float = GRACE_SECONDS,
) -> Outcome:
    """Run a task in this process and verify its solutions and bounds."""
    reports = Reports()
    started_at = datetime.now(UTC).isoformat()
    # Before the method runs: it may change the instance, but not what it is judged by.
    document = instance.to_json()
    longest = task.time_limit_seconds + grace_seconds if is_limited else None
    ending = _run(task, method, instance, document, reports, longest)

    def refusals(candidates: Sequence[verification.Candidate]) -> list[str | None]:
        return [
            verification_job.refusal(
                checker,
                document,
                task.instance_sha256,
                Frame({"kind": one.kind, "value": one.value}, one.document),
            )
            for one in candidates
        ]

    verified = verification.judge(refusals, reports.candidates())
    return outcome_of(task, started_at, ending, reports, verified)


class _Receiver:
    """Takes reports as a channel to another process does."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def report(self, header: dict[str, Any], body: bytes = b"") -> None:
        self._reports.take(Frame(header, body))


class _LimitReachedError(BaseException):
    """The method's time is up; methods that catch every `Exception` do not catch this."""


def _run(
    task: Task,
    method: Method,
    instance: Instance,
    document: dict[str, Any],
    reports: Reports,
    longest: float | None,
) -> Ending:
    """Run the method, for so many seconds at most, and return how it ended."""
    progress = StreamedProgress(instance, _Receiver(reports))
    limit: AbstractContextManager[None] = nullcontext() if longest is None else _limit(longest)
    status: Status = "ok"
    detail = ""
    began, cpu_began = time.monotonic(), time.process_time()
    try:
        check_method(task, method)
        if sha256_hex(canonical_json(document)) != task.instance_sha256:
            raise InvalidInputError("the instance has been changed since the task was planned.")
        run = method.load()
        # Hashing and importing are not the method's time.
        began, cpu_began = time.monotonic(), time.process_time()
        budget = Budget(task.time_limit_seconds, task.memory_limit_bytes, task.threads, began)
        with limit:
            run(instance, budget, task.seed, progress, **task.params)
    except _LimitReachedError:
        status, detail = "timeout", f"ended after {longest:g} s"
    except UnsupportedError as error:
        status, detail = "unsupported", str(error)
    except (Exception, SystemExit) as error:
        status, detail = "error", describe_error(error)
    return Ending(
        status=status,
        detail=shortened(detail, LONGEST_DETAIL),
        # A method that is ended here has no process that could exit.
        exit_code={"ok": 0, "timeout": None}.get(status, 1),
        exit_signal=None,
        output_tail="",
        started=began,
        seconds=time.monotonic() - began,
        cpu_seconds=time.process_time() - cpu_began,
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise `_LimitReachedError` in the block after some seconds; only in the main thread.

    Python drops what is raised within a callback of the garbage collector, so such a callback first
    ends; so does `__del__`, which has a second for it. What is dropped there and elsewhere is
    raised again every second.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    patient_until = time.monotonic() + seconds + 1.0

    def ring(number: int, frame: FrameType | None) -> None:
        callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
        is_patient = time.monotonic() < patient_until
        while frame is not None:
            if frame.f_code in callbacks or (is_patient and frame.f_code.co_name == "__del__"):
                signal.setitimer(signal.ITIMER_REAL, 0.01, 1.0)
                return
            frame = frame.f_back
        raise _LimitReachedError

    handler = signal.signal(signal.SIGALRM, ring)
    try:
        left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        began = time.monotonic()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        # Once more: the timer may have rung before it was stopped.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)
    if left:
        # The caller's own timer goes on; one of 0 seconds would never ring.
        signal.setitimer(
            signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - began)), interval
        )
