"""Takes in the reports of a method frame by frame, and believes nothing but their form."""

import math
import time
from dataclasses import dataclass
from typing import Any

from boundmark.benchmarks.execution.frames import LARGEST_BODY, BadReportError, Frame
from boundmark.benchmarks.execution.task import Event
from boundmark.benchmarks.execution.verification import Candidate, CandidateKind
from boundmark.reports.stored.statuses import TraceKind

# If the best one is refused the next may count; a method that errs thrice has had its chance.
KEPT_CANDIDATES = 3

# Of those that are kept beside the best one.
MOST_KEPT_BYTES = LARGEST_BODY

LONGEST_BOUND_KIND = 100


@dataclass(frozen=True)
class _Arrival:
    """An event by the receiver's clock, `time.monotonic()`."""

    at: float
    kind: TraceKind
    value: float | int


class Reports:
    """The reports of a task, as far as they are still of interest."""

    def __init__(self) -> None:
        self.claim: tuple[float, str] | None = None
        self._arrivals: list[_Arrival] = []
        self._best: dict[CandidateKind, list[Candidate]] = {"solution": [], "certificate": []}

    def take(self, frame: Frame) -> None:
        """Take in one report, unless one of its kind was better.

        Raises
        ------
        BadReportError
            If it has not the form of a report.
        """
        match frame.kind:
            case "solution":
                self._keep(Candidate("solution", _integer(frame), frame.body), frame.kind)
            case "bound_certified":
                self._keep(Candidate("certificate", _integer(frame), frame.body), frame.kind)
            case "bound_claimed":
                value, kind = _number(frame), _bound_kind(frame)
                if self.claim is None or value > self.claim[0]:
                    self.claim = (value, kind)
                    self._note("bound_claimed", value)
            case kind:
                raise BadReportError(f"one has the kind {kind!r:.80}, which no report has")

    def candidates(self) -> list[Candidate]:
        """Return the solutions and certificates to verify, best first."""
        return [*self._best["solution"], *self._best["certificate"]]

    def events(self, started: float, seconds: float) -> list[Event]:
        """Return improvements in the order in which they came.

        Parameters
        ----------
        started, seconds
            When the method started, by `time.monotonic()`, and how long it ran. What it sent at its
            very end arrives a little later.
        """
        return [
            Event(min(max(0.0, one.at - started), seconds), one.kind, one.value)
            for one in self._arrivals
        ]

    def _keep(self, candidate: Candidate, kind: TraceKind) -> None:
        best = self._best[candidate.kind]
        change = candidate.value - best[0].value if best else 0
        if change > 0 if kind == "solution" else change < 0:
            return
        if not best or change:
            # Traces tell when a value was first reached.
            self._note(kind, candidate.value)
        best.insert(0, candidate)
        del best[KEPT_CANDIDATES:]
        while len(best) > 1 and sum(len(one.document) for one in best[1:]) > MOST_KEPT_BYTES:
            best.pop()

    def _note(self, kind: TraceKind, value: float | int) -> None:
        self._arrivals.append(_Arrival(time.monotonic(), kind, value))


def _integer(frame: Frame) -> int:
    value: Any = frame.header.get("value")
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise BadReportError(
            f"one of kind {frame.kind!r} has the value {value!r:.80}; expected a 64-bit integer"
        )
    return value


def _number(frame: Frame) -> float:
    value: Any = frame.header.get("value")
    # JSON gives what claims hold as floating-point numbers.
    if type(value) is not float or not math.isfinite(value):
        raise BadReportError(
            f"one of kind {frame.kind!r} has the value {value!r:.80}; expected a finite number"
        )
    return value


def _bound_kind(frame: Frame) -> str:
    kind = frame.header.get("bound_kind")
    if (
        not isinstance(kind, str)
        or not 0 < len(kind) <= LONGEST_BOUND_KIND
        or not kind.isprintable()
    ):
        raise BadReportError(
            f"one has the bound_kind {kind!r:.80}; expected a printable text of at most "
            f"{LONGEST_BOUND_KIND} characters"
        )
    return kind
