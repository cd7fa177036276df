"""Collect a method's reports, verify them in another process, and make the task's outcome.

No report is believed until the checker has accepted it, in a process that shares nothing with the
method.
"""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from boundmark.benchmarks.running.execution import frames
from boundmark.benchmarks.running.execution.child_process import LONGEST_DETAIL
from boundmark.benchmarks.running.execution.fork_server import (
    Ending,
    ForkServer,
    Limits,
    ServerStoppedError,
)
from boundmark.benchmarks.running.execution.frames import Frame, shortened
from boundmark.benchmarks.running.execution.task import Event, Outcome, Task
from boundmark.problems.errors import BoundmarkError
from boundmark.reports.stored.statuses import TraceKind, is_refuted

LIMITS = Limits(seconds=120.0, memory_bytes=4 * 2**30, threads=1)

CandidateKind: TypeAlias = Literal["solution", "certificate"]


@dataclass(frozen=True)
class Candidate:
    """A solution or a certificate as a method reported it: its value and its JSON text."""

    kind: CandidateKind
    value: int
    document: bytes


@dataclass(frozen=True)
class Verified:
    """The outcome of verification: the best accepted candidates of a task.

    Attributes
    ----------
    solution, certificate
        The best accepted ones.
    rejections
        A clause for each candidate that was refused.
    seconds
        Wall time.
    """

    solution: Candidate | None = None
    certificate: Candidate | None = None
    rejections: tuple[str, ...] = ()
    seconds: float = 0.0


def start_server(checker: str = "boundmark.bounds.checker") -> ForkServer:
    """Start the warm process for `verify`, in which the checker is imported."""
    return ForkServer("boundmark.benchmarks.running.execution.verification_job", checker)


class Verification:
    """Checks what a task reports, when it has ended and, if wanted, beside it.

    No candidate is checked twice. One thread at a time may call `finish`, another `beside`.

    Parameters
    ----------
    server
        Returns a live server.
    instance
        Its canonical JSON.
    limits
        For one process; a candidate that breaks them, or the checker, is refused.
    """

    def __init__(
        self,
        server: Callable[[], ForkServer],
        instance: bytes,
        instance_sha256: str,
        limits: Limits = LIMITS,
    ) -> None:
        self._server = server
        self._instance = instance
        self._instance_sha256 = instance_sha256
        self._limits = limits
        self._verdicts: dict[Candidate, str | None] = {}
        # Bytes and seconds of each check so far.
        self._checks: list[tuple[int, float]] = []
        self._checking = threading.Lock()

    def finish(self, candidates: Sequence[Candidate]) -> Verified:
        """Check the best candidates, and the next best if need be."""
        return judge(self._refusals, candidates)

    def so_far(self) -> Verified:
        """Return the best candidates that were accepted so far; nothing is checked."""
        accepted = [one for one, refusal in self._verdicts.copy().items() if refusal is None]
        solutions = [one for one in accepted if one.kind == "solution"]
        certificates = [one for one in accepted if one.kind == "certificate"]
        return Verified(
            min(solutions, key=lambda one: one.value, default=None),
            max(certificates, key=lambda one: one.value, default=None),
        )

    @contextmanager
    def beside(self, reports: "Reports", until: float) -> Iterator[None]:
        """Check the best candidates again and again, in a thread, while the block runs.

        So what was found early counts, even if the time is up before the last of it is checked.
        Checks take at most a tenth of the time of one processor, and one more begins when what is
        best then can only just be checked.
        """
        is_over = threading.Event()

        def check() -> None:
            due = time.monotonic() + FIRST_CHECK_SECONDS
            with suppress(ServerStoppedError, BoundmarkError):
                while not is_over.wait(min(FIRST_CHECK_SECONDS, max(0.0, due - time.monotonic()))):
                    leading, began = reports.leading(), time.monotonic()
                    if began >= due or self._is_last_chance(leading, until):
                        self._refusals(leading)
                        due = time.monotonic() + max(
                            FIRST_CHECK_SECONDS, 9 * (time.monotonic() - began)
                        )

        thread = threading.Thread(target=check, daemon=True)
        thread.start()
        try:
            yield
        finally:
            # A check that runs is waited for by the next one, or ended with its server.
            is_over.set()

    def _is_last_chance(self, leading: Sequence[Candidate], until: float) -> bool:
        """Whether candidates can be checked in time now, and cannot a little later.

        A check is expected to take at most twice as long as `_expected_seconds`.
        """
        seconds = self._expected_seconds(
            sum(len(one.document) for one in leading if one not in self._verdicts)
        )
        left = until - time.monotonic()
        return seconds > 0 and seconds <= left <= 2 * seconds + FIRST_CHECK_SECONDS

    def _expected_seconds(self, size: int) -> float:
        """Return how long a check of so many bytes takes, 0.0 if there was no check yet.

        As long for each byte as the slowest check of at least a tenth of the size, or the largest
        one: small checks take long for each byte, because their process takes its time, too.
        """
        least = min(size / 10, max((checked for checked, _ in self._checks), default=0))
        paces = [seconds / checked for checked, seconds in self._checks if checked >= least]
        return size * max(paces, default=0.0)

    def _refusals(self, leading: Sequence[Candidate]) -> list[str | None]:
        """Return why candidates are refused, up to the first one that broke its process."""
        with self._checking:
            unknown = [one for one in leading if one not in self._verdicts]
            if unknown:
                began = time.monotonic()
                found = _refusals(
                    self._server(), self._instance, self._instance_sha256, unknown, self._limits
                )
                self._verdicts.update(zip(unknown, found))  # noqa: B905
                size = max(1, sum(len(one.document) for one in unknown))
                self._checks.append((size, time.monotonic() - began))
            known = itertools.takewhile(self._verdicts.__contains__, leading)
            return [self._verdicts[one] for one in known]


# Methods that take less are checked when they have ended.
FIRST_CHECK_SECONDS = 1.0


def judge(
    refusals: Callable[[Sequence[Candidate]], Sequence[str | None]],
    candidates: Sequence[Candidate],
) -> Verified:
    """Return the best candidate of each kind that is accepted."""
    if not candidates:
        return Verified()
    began = time.perf_counter()
    waiting: dict[CandidateKind, list[Candidate]] = {"solution": [], "certificate": []}
    for candidate in candidates:
        waiting[candidate.kind].append(candidate)
    accepted: dict[CandidateKind, Candidate] = {}
    rejections = []
    while leading := [queue[0] for queue in waiting.values() if queue]:
        # Shorter if one of them broke its process: then the others have another try.
        for candidate, refusal in zip(leading, refusals(leading)):  # noqa: B905
            if refusal is None:
                accepted[candidate.kind] = candidate
                waiting[candidate.kind].clear()
                continue
            waiting[candidate.kind].pop(0)
            rejections.append(f"{candidate.kind} of value {candidate.value}: {refusal}")
    return Verified(
        accepted.get("solution"),
        accepted.get("certificate"),
        tuple(rejections),
        time.perf_counter() - began,
    )


def _refusals(
    server: ForkServer,
    instance: bytes,
    instance_sha256: str,
    candidates: Sequence[Candidate],
    limits: Limits,
) -> list[str | None]:
    """Return why candidates are refused, up to the first one that broke its process."""
    found: list[str | None] = []
    documents = [frames.encode({"kind": "instance"}, instance)]
    documents += [
        frames.encode({"kind": one.kind, "value": one.value}, one.document) for one in candidates
    ]
    ending = server.run(
        {"instance_sha256": instance_sha256},
        limits,
        lambda frame: found.append(frame.header["refusal"]),
        b"".join(documents),
    )
    if len(found) < len(candidates):
        found.append(f"the check did not end well: {ending.detail}")
    return found


# If the best one is refused the next may count; a method that errs thrice has had its chance.
KEPT_CANDIDATES = 3

MOST_KEPT_BYTES = 2**27


@dataclass(frozen=True)
class _Arrival:
    """An event by the receiver's clock, `time.monotonic()`."""

    at: float
    kind: TraceKind
    value: float | int


class Reports:
    """Collects the reports of a task, and keeps the best.

    Parameters
    ----------
    most_kept_bytes
        Largest size of the candidates that are kept beside the best one of their kind.
    """

    def __init__(self, most_kept_bytes: int = MOST_KEPT_BYTES) -> None:
        self._most_kept_bytes = most_kept_bytes
        self.claim: tuple[float, str] | None = None
        self._arrivals: list[_Arrival] = []
        self._best: dict[CandidateKind, list[Candidate]] = {"solution": [], "certificate": []}

    def take(self, frame: Frame) -> None:
        """Take in one report, unless one of its kind was better."""
        value = frame.header["value"]
        match frame.kind:
            case "solution":
                self._keep(Candidate("solution", value, frame.body), "solution")
            case "bound_certified":
                self._keep(Candidate("certificate", value, frame.body), "bound_certified")
            case "bound_claimed":
                if self.claim is None or value > self.claim[0]:
                    self.claim = (value, frame.header["bound_kind"])
                    self._note("bound_claimed", value)

    def candidates(self) -> list[Candidate]:
        """Return the solutions and certificates to verify, best first."""
        return [*self._best["solution"], *self._best["certificate"]]

    def leading(self) -> list[Candidate]:
        """Return the best candidate of each kind."""
        return [one for best in self._best.values() for one in best[:1]]

    def events(self, started: float, seconds: float) -> list[Event]:
        """Return improvements in the order in which they came."""
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
        while len(best) > 1 and sum(len(one.document) for one in best[1:]) > self._most_kept_bytes:
            best.pop()

    def _note(self, kind: TraceKind, value: float | int) -> None:
        self._arrivals.append(_Arrival(time.monotonic(), kind, value))


def outcome_of(
    task: Task,
    started_at: str,
    ending: Ending,
    reports: Reports,
    verified: Verified,
) -> Outcome:
    """Return the outcome of a task in this process's environment."""
    objective = verified.solution.value if verified.solution else None
    bound = verified.certificate.value if verified.certificate else None
    events = reports.events(ending.started, ending.seconds)

    def stands(event: Event) -> bool:
        if event.kind == "solution":
            return objective is not None and event.value >= objective
        if event.kind == "bound_certified":
            return bound is not None and event.value <= bound
        return True

    claim = reports.claim
    status, detail, rejections = ending.status, ending.detail, list(verified.rejections)
    if claim is not None and objective is not None and is_refuted(claim[0], objective):
        rejections.append(f"claim of {claim[0]:.3f}: it is above the verified cost of {objective}")
    if rejections:
        # An error of the task's own is told first.
        own = f"{detail}; " if status == "error" else ""
        status, words = "error", "; ".join(rejections)
        detail = shortened(f"{own}rejected: {words}", LONGEST_DETAIL)
    kind = claim[1] if claim else None
    if verified.certificate:
        kind = json.loads(verified.certificate.document)["kind"]
    return Outcome(
        task=task,
        status=status,
        status_detail=detail,
        exit_code=ending.exit_code,
        exit_signal=ending.exit_signal,
        stderr_tail=ending.output_tail,
        wall_seconds=ending.seconds,
        cpu_seconds=ending.cpu_seconds,
        peak_rss_bytes=ending.peak_rss_bytes,
        started_at=started_at,
        events=tuple(filter(stands, events)),
        solution=verified.solution.document if verified.solution else None,
        objective=objective,
        certificate=verified.certificate.document if verified.certificate else None,
        bound_certified=bound,
        bound_claimed=claim[0] if claim else None,
        bound_kind=kind,
        verify_seconds=verified.seconds,
        environment=None,
    )
