"""The statuses of tasks, and the kinds of events in traces."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, get_args

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
    """Return one entry for each reason why tasks were not supported, numbers in it aside.

    Parameters
    ----------
    tasks
        Method and reason of each.
    """
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

# In `bound_kind`, between the kind of a certificate that only a package checks and its name.
ACCEPTED_BY = ", accepted by "
