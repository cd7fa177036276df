"""A task and its outcome."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from boundmark.problems.json_documents import canonical_json, sha256_hex
from boundmark.problems.problem import ParameterValue
from boundmark.reports.stored.statuses import Status, TraceKind

# Returns the canonical JSON of the instance with a hash.
ReadInstance: TypeAlias = Callable[[str], bytes]


@dataclass(frozen=True)
class Task:
    """One run of a method: the instance, the method, its parameters, seed and limits.

    Attributes
    ----------
    instance_sha256
        Hash of the instance's canonical JSON, which travels beside the task.
    params
        Complete: the method's defaults merged with what a suite overrides.
    time_limit_seconds
        The method's soft budget; the runner stops the method a grace period later.
    memory_limit_bytes
        For everything resident in the task's processes together, the interpreter included.
    """

    instance_sha256: str
    problem: str
    method: str
    method_version: int
    params: Mapping[str, ParameterValue]
    seed: int
    time_limit_seconds: float
    memory_limit_bytes: int
    threads: int

    @property
    def task_id(self) -> str:
        """Hash of all fields."""
        return sha256_hex(canonical_json(self.to_json()))

    def to_json(self) -> dict[str, Any]:
        """Return the task as JSON values."""
        return {
            "instance_sha256": self.instance_sha256,
            "problem": self.problem,
            "method": self.method,
            "method_version": self.method_version,
            "params": dict(self.params),
            "seed": self.seed,
            "time_limit_seconds": float(self.time_limit_seconds),
            "memory_limit_bytes": self.memory_limit_bytes,
            "threads": self.threads,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Task":
        """Read the JSON that `to_json` wrote."""
        return cls(**value)


def producer_of(method: str, version: int) -> str:
    """Return the name under which a method's reports are stored, e.g. ``"certify 12"``.

    That is the method that a task names, whatever others it runs.
    """
    return f"{method} {version}"


@dataclass(frozen=True)
class Event:
    """An improvement, `seconds` after the method started."""

    seconds: float
    kind: TraceKind
    value: float | int


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    Attributes
    ----------
    status
        ``"ok"`` if the method returned by itself. If a reported solution or certificate was
        rejected, ``"error"``.
    status_detail
        One sentence; empty if there is nothing to say.
    exit_code, exit_signal
        End of the task's process; both None if the supervising process died, and with it the
        measurements, which are then 0.
    stderr_tail
        End of what the task wrote to standard error and standard output.
    wall_seconds
        From when the instance was loaded until the method returned or died.
    cpu_seconds
        All the task's processes together, loading excluded.
    peak_rss_bytes
        All the task's processes together, the interpreter included.
    started_at
        In UTC, ISO 8601.
    events
        In the order in which they came, without what verification refuted.
    solution, objective
        Best verified solution as JSON text in its stored form, and its cost.
    certificate, bound_certified
        Best verified certificate as JSON text in its stored form, and its bound.
    bound_claimed
        Best bound that a solver reported.
    bound_kind
        Kind of the certificate, or of the claim if there is no certificate.
    verify_seconds
        Wall time of the verification.
    environment
        Machine and software that ran the task, see `environment.describe_environment`; None for
        those of the process that stores the outcome.
    """

    task: Task
    status: Status
    status_detail: str
    exit_code: int | None
    exit_signal: int | None
    stderr_tail: str
    wall_seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    started_at: str
    events: tuple[Event, ...]
    solution: bytes | None
    objective: int | None
    certificate: bytes | None
    bound_certified: int | None
    bound_claimed: float | None
    bound_kind: str | None
    verify_seconds: float
    environment: Mapping[str, Any] | None

    def stored_solution(self) -> dict[str, Any] | None:
        """Return the solution with the task's method as its producer, as it is stored."""
        return self._stored(self.solution)

    def stored_certificate(self) -> dict[str, Any] | None:
        """Return the certificate with the task's method as its producer, as it is stored."""
        return self._stored(self.certificate)

    def _stored(self, document: bytes | None) -> dict[str, Any] | None:
        # Methods run others, whose certificates come under their own names; and nothing that a
        # method says of who found something is believed.
        if document is None:
            return None
        return {
            **json.loads(document),
            "producer": producer_of(self.task.method, self.task.method_version),
        }
