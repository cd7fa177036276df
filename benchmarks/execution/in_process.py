"""Runs a task in the calling process, for methods that need a fraction of a second.

The processes that enforce limits take longer to start than such a method to run. What it reports is
judged as anywhere else: by the checker, which depends on nothing and is no part of any method. Only
the limits are not enforced, and the peak of memory is the whole process's.
"""

import resource
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from boundmark.benchmarks.execution import verification, verification_job
from boundmark.benchmarks.execution.child_process import LONGEST_DETAIL, describe_error
from boundmark.benchmarks.execution.ending import Ending
from boundmark.benchmarks.execution.frames import Frame, printable
from boundmark.benchmarks.execution.method_job import StreamedProgress
from boundmark.benchmarks.execution.reports import Reports
from boundmark.benchmarks.execution.supervisor import outcome_of
from boundmark.benchmarks.execution.task import Outcome, Task
from boundmark.bounds import checker
from boundmark.problems.canonical import canonical_json
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Method
from boundmark.problems.problem import Instance
from boundmark.reports.stored.statuses import Status


def run_here(task: Task, method: Method, instance: Instance) -> Outcome:
    """Run a task in this process and verify what it reports.

    Parameters
    ----------
    method, instance
        Those that the task names.
    """
    reports = Reports()
    started_at = datetime.now(UTC).isoformat()
    ending = _run(task, method, instance, reports)
    document = instance.to_json()

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


def _run(task: Task, method: Method, instance: Instance, reports: Reports) -> Ending:
    """Run the method and return how it ended."""
    progress = StreamedProgress(instance, _Receiver(reports))
    # Needed by every report, and not the method's time.
    canonical_json(instance.to_json())
    run = method.load()
    began, cpu_began = time.monotonic(), time.process_time()
    status: Status = "ok"
    detail = ""
    try:
        budget = Budget(task.time_limit_seconds, task.memory_limit_bytes, task.threads, began)
        run(instance, budget, task.seed, progress, **task.params)
    except UnsupportedError as error:
        status, detail = "unsupported", str(error)
    except Exception as error:
        status, detail = "error", describe_error(error)
    return Ending(
        status=status,
        detail=printable(detail, LONGEST_DETAIL),
        exit_code=0 if status == "ok" else 1,
        exit_signal=None,
        output_tail="",
        started=began,
        seconds=time.monotonic() - began,
        cpu_seconds=time.process_time() - cpu_began,
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
