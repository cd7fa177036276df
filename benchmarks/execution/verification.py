"""Verification of what a task reported, in a process that shares nothing with the method."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from boundmark.benchmarks.execution import frames
from boundmark.benchmarks.execution.accepted_kinds import may_be_accepted
from boundmark.benchmarks.execution.ending import Limits
from boundmark.benchmarks.execution.fork_server import ForkServer

LIMITS = Limits(seconds=120.0, memory_bytes=4 * 2**30, threads=1)

CandidateKind: TypeAlias = Literal["solution", "certificate"]


@dataclass(frozen=True)
class Candidate:
    """A solution or a certificate as a method reported it: its value and its JSON text."""

    kind: CandidateKind
    value: int
    document: bytes


@dataclass(frozen=True)
class Accepted:
    """A bound that another package's function accepts; see `accepted_kinds`."""

    bound: int
    kind: str
    package: str


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
    accepted
        The best bound that only a package accepts.
    """

    solution: Candidate | None = None
    certificate: Candidate | None = None
    rejections: tuple[str, ...] = ()
    seconds: float = 0.0
    accepted: Accepted | None = None


def start_server(checker: str = "boundmark.bounds.checker") -> ForkServer:
    """Start the warm process for `verify`, with the module that has the last word."""
    return ForkServer("boundmark.benchmarks.execution.verification_job", checker)


def verify(
    server: Callable[[], ForkServer],
    instance: bytes,
    instance_sha256: str,
    candidates: Sequence[Candidate],
    limits: Limits = LIMITS,
) -> Verified:
    """Check the best candidates against the instance, and the next best if need be.

    Parameters
    ----------
    server
        Returns a live server.
    instance
        Its canonical JSON.
    candidates
        Best first within each kind.
    limits
        For one process; a candidate that breaks them, or the checker, is refused.
    """

    def accept(candidate: Candidate) -> tuple[str, str]:
        # In a process of its own, where there is no verdict of the checker to tamper with.
        found: list[tuple[str, str]] = []
        documents = [
            frames.encode({"kind": "instance"}, instance),
            frames.encode({"kind": candidate.kind, "value": candidate.value}, candidate.document),
        ]
        ending = server().run(
            {"instance_sha256": instance_sha256, "accept": True},
            limits,
            lambda frame: found.append((frame.header["package"], frame.header["refusal"])),
            b"".join(documents),
        )
        return found[0] if found else ("", f"the check did not end well: {ending.detail}")

    return judge(
        lambda leading: _refusals(server(), instance, instance_sha256, leading, limits),
        candidates,
        accept,
    )


def judge(
    refusals: Callable[[Sequence[Candidate]], Sequence[str | None]],
    candidates: Sequence[Candidate],
    accept: Callable[[Candidate], tuple[str, str]],
) -> Verified:
    """Return the best candidate of each kind that is accepted.

    Parameters
    ----------
    refusals
        Returns why candidates are refused, None for one that is accepted; it may stop after the
        first that is refused.
    candidates
        Best first within each kind.
    accept
        Returns which package accepts a certificate of a kind that the checker does not know, or an
        empty text and why none does.
    """
    if not candidates:
        return Verified()
    began = time.perf_counter()
    waiting: dict[CandidateKind, list[Candidate]] = {"solution": [], "certificate": []}
    for candidate in candidates:
        waiting[candidate.kind].append(candidate)
    accepted: dict[CandidateKind, Candidate] = {}
    rejections = []
    claimed: Accepted | None = None
    while leading := [queue[0] for queue in waiting.values() if queue]:
        # Shorter if one of them broke its process: then the others have another try.
        for candidate, refusal in zip(leading, refusals(leading)):  # noqa: B905
            if refusal is None:
                accepted[candidate.kind] = candidate
                waiting[candidate.kind].clear()
                continue
            waiting[candidate.kind].pop(0)
            if candidate.kind == "certificate" and may_be_accepted(candidate.document):
                package, refusal = accept(candidate)
                if package:
                    kind = str(json.loads(candidate.document)["kind"])
                    claimed = claimed or Accepted(candidate.value, kind, package)
                    continue
            rejections.append(f"{candidate.kind} of value {candidate.value}: {refusal}")
    return Verified(
        accepted.get("solution"),
        accepted.get("certificate"),
        tuple(rejections),
        time.perf_counter() - began,
        claimed,
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
