"""How a child process ended: its status, times and memory."""

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from boundmark.benchmarks.execution.child_process import EXIT_CODES, LONGEST_DETAIL
from boundmark.benchmarks.execution.frames import shortened
from boundmark.benchmarks.execution.server_process import PREPARATION_SECONDS
from boundmark.reports.stored.schema import Status


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
        detail = "what it found last was not checked, because the time was up"
        if known is not None:
            return replace(known, status="timeout", detail=detail)
        return cls("timeout", detail, None, None, started, time.monotonic() - started, 0.0, 0, "")


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
