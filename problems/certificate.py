"""Statements about an instance's optimum: certified by data, or claimed by a solver.

The format is read by the solver-free checker (`boundmark.bounds.checker`), which shares no code
with this module.
"""

from dataclasses import dataclass
from typing import Any

from boundmark.problems.problem import Instance

CERTIFICATE_FORMAT = "boundmark-certificate/1"


@dataclass(frozen=True)
class Certificate:
    """``OPT >= bound``, with the data from which the checker concludes it alone.

    Attributes
    ----------
    kind
        Kind of argument and its version, e.g. ``"node-cut/1"``.
    bound
        In ticks.
    payload
        JSON values as the kind defines them.
    producer
        Name of the method that found it. A run stores name and version of the method that it ran
        instead.
    """

    instance_sha256: str
    problem: str
    kind: str
    bound: int
    payload: dict[str, Any]
    producer: str

    @classmethod
    def of(
        cls, instance: Instance, kind: str, bound: int, payload: dict[str, Any], producer: str
    ) -> "Certificate":
        """Build a certificate for an instance."""
        return cls(instance.sha256, instance.problem, kind, bound, payload, producer)

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "format": CERTIFICATE_FORMAT,
            "instance_sha256": self.instance_sha256,
            "problem": self.problem,
            "kind": self.kind,
            "bound": self.bound,
            "payload": self.payload,
            "producer": self.producer,
        }


@dataclass(frozen=True)
class Claim:
    """``OPT >= bound`` on a solver's word, in floating-point ticks: never rounded up to a fact."""

    kind: str
    bound: float
