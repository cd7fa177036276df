"""Columns of stored results and traces, the statuses of tasks, and the kinds of events."""

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import pyarrow as pa

VERSION = "2"
VERSION_KEY = b"boundmark_schema"

RESULTS = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        ("suite", pa.string()),
        pa.field("problem", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("instance", pa.string(), nullable=False),
        ("device", pa.string()),
        pa.field("instance_sha256", pa.string(), nullable=False),
        ("instance_params", pa.string()),
        ("nodes", pa.int64()),
        ("edges", pa.int64()),
        pa.field("method", pa.string(), nullable=False),
        pa.field("method_kind", pa.string(), nullable=False),
        ("method_version", pa.int64()),
        ("params", pa.string()),
        ("seed", pa.int64()),
        pa.field("status", pa.string(), nullable=False),
        ("status_detail", pa.string()),
        ("exit_code", pa.int64()),
        ("exit_signal", pa.int64()),
        ("stderr_tail", pa.string()),
        ("objective", pa.int64()),
        ("bound_certified", pa.int64()),
        ("bound_claimed", pa.float64()),
        ("bound_kind", pa.string()),
        ("solution_sha256", pa.string()),
        ("certificate_sha256", pa.string()),
        ("verify_seconds", pa.float64()),
        ("wall_seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),
        ("peak_rss_bytes", pa.int64()),
        ("time_limit_seconds", pa.float64()),
        ("memory_limit_bytes", pa.int64()),
        ("threads", pa.int64()),
        pa.field("started_at", pa.timestamp("us", tz="UTC"), nullable=False),
        ("host", pa.string()),
        ("environment_sha256", pa.string()),
    ],
    metadata={VERSION_KEY: VERSION},
)

TRACES = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ],
    metadata={VERSION_KEY: VERSION},
)


Status: TypeAlias = Literal["ok", "timeout", "oom", "crashed", "error", "unsupported"]
STATUSES: tuple[Status, ...] = get_args(Status)

# Those of tasks that did not end by themselves as they should.
FAILURES = tuple(status for status in STATUSES if status != "ok")


class Unsupported(NamedTuple):
    """Tasks that methods did not support for one reason.

    Attributes
    ----------
    methods
        Their names, in order of appearance.
    reason
        That of the first; others differ from it in numbers at most.
    """

    tasks: int
    methods: tuple[str, ...]
    reason: str

    @property
    def sentence(self) -> str:
        """A summary of the statuses in one line."""
        tasks = "1 task" if self.tasks == 1 else f"{self.tasks:,} tasks"
        first = "" if self.tasks == 1 else "the first: "
        return f"unsupported: {tasks} of {', '.join(self.methods)}; {first}{self.reason}"


def unsupported_by_reason(tasks: Iterable[tuple[str, str]]) -> list[Unsupported]:
    """Return one entry for each reason why tasks were not supported, numbers in it aside."""
    found: dict[str, list[tuple[str, str]]] = {}
    for method, reason in tasks:
        found.setdefault(re.sub(r"\d[\d,.]*", "#", reason), []).append((method, reason))
    return [
        Unsupported(len(alike), tuple(dict.fromkeys(method for method, _ in alike)), alike[0][1])
        for alike in found.values()
    ]


# A solution, with its objective, or a bound of either sort.
TraceKind: TypeAlias = Literal["solution", "bound_certified", "bound_claimed"]
TRACE_KINDS: tuple[TraceKind, ...] = get_args(TraceKind)

# A claim may exceed the optimum by a solver's tolerance. Beyond this it contradicts a solution.
CLAIM_TOLERANCE = 1e-6


def is_refuted(claimed: Any, cost: Any) -> Any:
    """Whether a verified cost shows that a claimed bound is wrong; also of columns of both."""
    return claimed > cost * (1 + CLAIM_TOLERANCE)
