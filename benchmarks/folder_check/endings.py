"""How a row says that its task ended: whether status, exit and times can be those of one task.

Who forges all of them alike is not noticed: nothing can prove how a process ended.
"""

import math
import signal
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.execution.child_process import EXIT_CODES
from boundmark.benchmarks.execution.fork_server import LOOK_SECONDS, PATIENCE_SECONDS
from boundmark.benchmarks.execution.server_process import PREPARATION_SECONDS
from boundmark.benchmarks.execution.supervisor import GRACE_SECONDS
from boundmark.reports.stored.schema import STATUSES

MEASURED = ("wall_seconds", "cpu_seconds", "verify_seconds", "peak_rss_bytes")

# What the system can say of a process.
MOST_EXIT_CODE = 255
SIGNALS = range(1, signal.NSIG)


@dataclass(frozen=True)
class Exits:
    """How the process of a task with some status can have ended.

    Attributes
    ----------
    unknown
        Whether it may be that nobody knows, because the supervising process died or hung.
    """

    codes: Collection[int] = ()
    signals: Collection[int] = ()
    unknown: bool = False

    @property
    def words(self) -> str:
        """The exits in words."""
        codes = [f"exit_code {code}" for code in self.codes]
        return " or ".join([*codes, *(f"exit_signal {int(number)}" for number in self.signals)])


# Other statuses may come with any exit: what a task reported may be refused after whatever end.
EXITS = {
    "ok": Exits(codes=[EXIT_CODES["ok"]]),
    "unsupported": Exits(codes=[EXIT_CODES["unsupported"]]),
    "timeout": Exits(signals=[signal.SIGKILL], unknown=True),
    "oom": Exits(codes=[EXIT_CODES["oom"]], signals=[signal.SIGKILL, signal.SIGABRT]),
}


def ending_faults(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a clause for each value in a row that no run of a task can have produced."""
    status = row["status"]
    if status not in STATUSES:
        yield f"status is {status!r:.70}; expected one of {', '.join(STATUSES)}"
    yield from _exit_faults(row)
    for name in MEASURED:
        value = row[name]
        if value is None or not (math.isfinite(value) and value >= 0):
            yield f"{name} is {value}; expected a non-negative number"
    limit, seconds = row["time_limit_seconds"], row["wall_seconds"]
    if limit is None or not (math.isfinite(limit) and limit > 0):
        yield f"time_limit_seconds is {limit}; expected a number above 0"
    elif seconds is not None and seconds > longest_seconds(limit, status):
        yield (
            f"wall_seconds is {seconds:g}; expected at most {longest_seconds(limit, status):g} "
            f"under a limit of {limit:g} s"
        )


def longest_seconds(limit: float, status: str) -> float:
    """Return the seconds after which the runner kills a task with this limit."""
    ended = limit + GRACE_SECONDS
    if status != "ok":
        # A task that never began is measured from when it was given its instance.
        ended = max(ended, PREPARATION_SECONDS)
    return ended + PATIENCE_SECONDS + 2 * LOOK_SECONDS


def _exit_faults(row: Mapping[str, Any]) -> Iterator[str]:
    status, code, number = row["status"], row["exit_code"], row["exit_signal"]
    if code is not None and number is not None:
        yield f"exit_code is {code} and exit_signal is {number}; expected one of them at most"
        return
    if code is not None and not 0 <= code <= MOST_EXIT_CODE:
        yield f"exit_code is {code}; expected 0 to {MOST_EXIT_CODE}"
    if number is not None and number not in SIGNALS:
        yield f"exit_signal is {number}; expected {SIGNALS.start} to {SIGNALS.stop - 1}"
    exits = EXITS.get(status)
    if exits is None:
        return
    is_unknown = code is None and number is None
    if not (exits.unknown if is_unknown else code in exits.codes or number in exits.signals):
        found = (
            "neither exit_code nor exit_signal"
            if is_unknown
            else f"exit_code {code}"
            if number is None
            else f"exit_signal {number}"
        )
        yield f"status is {status!r} with {found}; expected {exits.words}"
