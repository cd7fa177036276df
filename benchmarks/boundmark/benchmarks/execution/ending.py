"""How a child ended, in words."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.execution.server_process import PREPARATION_SECONDS
from boundmark.reports.stored.statuses import Status

# What the server says about a child; this if the server has died itself.
SERVER_DIED: Mapping[str, Any] = {
    "exit_code": None,
    "exit_signal": None,
    "killed_by": "server",
    "seconds": 0.0,
    "cpu_seconds": 0.0,
    "peak_rss_bytes": 0,
}


@dataclass(frozen=True)
class Limits:
    """What a child may use: wall time from its start, resident memory, threads."""

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
    seconds
        From the child's start.
    output_tail
        End of standard output and standard error.
    """

    status: Status
    detail: str
    exit_code: int | None
    exit_signal: int | None
    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    output_tail: str

    @classmethod
    def of(
        cls,
        server_report: Mapping[str, Any],
        own_words: Mapping[str, Any] | None,
        is_damaged: bool,
        output_tail: str,
        limits: Limits,
    ) -> "Ending":
        """Put together what is known.

        Parameters
        ----------
        server_report
            What the server says, or `SERVER_DIED`.
        own_words
            Header of the child's last frame, if it came to that.
        is_damaged
            Whether the child's reports became unreadable at some point.
        """
        status, detail = _reason(server_report, output_tail, limits)
        seconds = server_report["seconds"]
        if is_damaged:
            status, detail = "error", "the reports are unreadable; expected one process to report"
        elif own_words is not None:
            status, detail = own_words["status"], own_words["detail"]
            if own_words["seconds"] is not None:
                seconds = own_words["seconds"]
        return cls(
            status,
            detail,
            server_report["exit_code"],
            server_report["exit_signal"],
            seconds,
            server_report["cpu_seconds"],
            server_report["peak_rss_bytes"],
            output_tail,
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
