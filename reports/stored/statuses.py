"""The statuses of tasks and the kinds of their events, for whoever needs no stored table."""

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

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
