"""Checks instances, recomputes what solutions cost, and decides what certificates prove."""

from typing import Any

from .budget import limited
from .documents import (
    CERTIFICATE_FORMAT,
    INSTANCE_FORMAT,
    SOLUTION_FORMAT,
    instance_sha256,
)
from .problem import Problem
from .registry import PROBLEMS
from .third_party import installed_checker
from .values import LARGEST_AMOUNT, Rejected, fields, integer, quoted, require_text


def check_instance(document: Any) -> Any:
    """Return an instance in the form that the checks use."""
    with limited("an instance"):
        return _problem(document).read(_without_head(document))


def check_solution(instance: dict[str, Any], solution: dict[str, Any]) -> int:
    """Recompute the objective of a solution and return it."""
    read = check_instance(instance)
    with limited("a solution"):
        problem = _problem(instance)
        head = {"format", "instance_sha256", "problem", "objective"}
        if type(solution) is dict and "producer" in solution:
            # Who gives a solution of their own need not say who found it.
            head.add("producer")
            _check_producer(solution, "solution")
        required = head | problem.solution_fields
        solution = fields(solution, "the solution", required, problem.optional_fields)
        require_text(solution["format"], "the solution's format", SOLUTION_FORMAT)
        _check_belongs(solution, instance, "solution")
        stated = integer(solution["objective"], "the solution's objective", 0, LARGEST_AMOUNT)
        answer = {name: solution[name] for name in solution.keys() - head}
        objective = problem.objective(read, answer)
        if stated != objective:
            raise Rejected(f"the solution's objective is not what it costs, {objective}")
    return objective


def check_certificate(instance: dict[str, Any], certificate: dict[str, Any]) -> int:
    """Return the lower bound that a certificate proves; it may exceed the bound that it states."""
    read = check_instance(instance)
    with limited("a certificate"):
        problem = _problem(instance)
        names = {"format", "instance_sha256", "problem", "kind", "bound", "payload", "producer"}
        certificate = fields(certificate, "the certificate", names)
        require_text(certificate["format"], "the certificate's format", CERTIFICATE_FORMAT)
        _check_belongs(certificate, instance, "certificate")
        kind = certificate["kind"]
        if type(kind) is not str or kind not in problem.kinds:
            known = ", ".join(problem.kinds)
            raise Rejected(f"the certificate's kind is not one of {known}, but {quoted(kind)}")
        _check_producer(certificate, "certificate")
        bound = integer(certificate["bound"], "the certificate's bound", 0, LARGEST_AMOUNT)
    with limited(f"a certificate of kind {kind}"):
        proved = problem.kinds[kind](read, certificate["payload"])
    if bound > proved:
        raise Rejected(f"the certificate's bound is more than it proves, {proved}")
    return proved


def _problem(instance: Any) -> Problem:
    if type(instance) is not dict:
        raise Rejected(f"the instance is not an object, but {quoted(instance)}")
    require_text(instance.get("format"), "the instance's format", INSTANCE_FORMAT)
    name = instance.get("problem")
    if type(name) is not str:
        raise Rejected(f"the instance's problem is not a text, but {quoted(name)}")
    # Whatever is installed, nothing replaces what this folder knows.
    known = PROBLEMS.get(name) or installed_checker(name)
    if known is None:
        raise Rejected(
            f"the instance's problem is not one of {', '.join(PROBLEMS)}, "
            f"but {quoted(name)}, and no package that checks it is installed"
        )
    return known


def _without_head(instance: dict[str, Any]) -> dict[str, Any]:
    return {name: instance[name] for name in instance if name not in ("format", "problem")}


def _check_producer(document: dict[str, Any], what: str) -> None:
    if type(document["producer"]) is not str:
        raise Rejected(f"the {what}'s producer is not a text, but {quoted(document['producer'])}")


def _check_belongs(document: dict[str, Any], instance: dict[str, Any], what: str) -> None:
    require_text(document["problem"], f"the {what}'s problem", instance["problem"])
    require_text(
        document["instance_sha256"], f"the {what}'s instance_sha256", instance_sha256(instance)
    )
