"""The statuses of tasks, and the kinds of events in traces."""

from typing import Literal, TypeAlias, get_args

Status: TypeAlias = Literal["ok", "timeout", "oom", "crashed", "error", "unsupported"]
STATUSES: tuple[Status, ...] = get_args(Status)

# Those of tasks that did not end by themselves as they should.
FAILURES = tuple(status for status in STATUSES if status != "ok")

# A solution, with its objective, or a bound of either sort.
TraceKind: TypeAlias = Literal["solution", "bound_certified", "bound_claimed"]
TRACE_KINDS: tuple[TraceKind, ...] = get_args(TraceKind)

# In `bound_kind`, between the kind of a certificate that only a package checks and its name.
ACCEPTED_BY = ", accepted by "
