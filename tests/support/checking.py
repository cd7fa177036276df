"""What the checker says of an instance, and of certificates and solutions that a test makes up."""

from collections.abc import Container, Iterator
from types import EllipsisType
from typing import Any

from boundmark.bounds import checker

Document = dict[str, Any]

# Solutions with their cost, None if they break a constraint.
Solutions = Iterator[tuple[Document, int | None]]

# Kinds of certificates, and payloads with all that these may prove; None stands for a rejection,
# and an ellipsis for anything up to the optimum, or nothing.
Claims = Iterator[tuple[str, Any, Container[int | None] | EllipsisType]]


def read(sample: Any) -> Any:
    """Return an instance as the checker has it."""
    return checker.check_instance(sample.to_json())


def certificate(sample: Any, kind: str, payload: Any, bound: Any = 0) -> Document:
    """Return a certificate about an instance."""
    return {
        "format": checker.CERTIFICATE_FORMAT, "problem": sample.to_json()["problem"], "kind": kind,
        "instance_sha256": sample.sha256, "bound": bound, "payload": payload, "producer": "a test",
    }  # fmt: skip


def proved(sample: Any, kind: str, payload: Any, bound: Any = 0) -> int:
    """Return what a payload proves."""
    return checker.check_certificate(sample.to_json(), certificate(sample, kind, payload, bound))


def prove(sample: Any, kind: str, payload: Any) -> int | None:
    """Return what a payload proves, None if it is rejected."""
    try:
        return proved(sample, kind, payload)
    except checker.Rejected:
        return None


def cost_or_reason(sample: Any, solution: Document) -> int | str:
    """Return what a solution costs by the checker, or why it is none."""
    document = {
        "format": checker.SOLUTION_FORMAT, "problem": sample.to_json()["problem"],
        "instance_sha256": sample.sha256, "objective": 0, **solution,
    }  # fmt: skip
    try:
        return checker.check_solution(sample.to_json(), document)
    except checker.Rejected as error:
        reason = str(error)
    # Whatever is stated, the checker says what it costs.
    _, _, cost = reason.partition("is not what it costs, ")
    return int(cost) if cost else reason
