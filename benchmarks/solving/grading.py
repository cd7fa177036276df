"""Read a user's solution and the instance that it solves, and grade it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from boundmark.benchmarks.running.planning import NamedInstance
from boundmark.benchmarks.solving.answer import GIVEN, Answer
from boundmark.benchmarks.solving.model import Choice
from boundmark.benchmarks.solving.presentation import presentation_of
from boundmark.benchmarks.solving.rounds import MethodPlan
from boundmark.benchmarks.solving.solution_file import (
    read_solution_file,
    solution_of_rows,
)
from boundmark.bounds import checker
from boundmark.problems.catalog import problems
from boundmark.problems.errors import InvalidInputError, StoreError, quoted
from boundmark.problems.files import LARGEST_FILE, naming, read_bytes
from boundmark.problems.problem import SOLUTION_FORMAT, Instance, Solution, solution_document


@dataclass(frozen=True)
class GivenSolution:
    """A solution from a file, checked.

    Attributes
    ----------
    document
        Its stored form, which the checker has accepted.
    objective
        Its cost in ticks.
    notes
        What was taken for granted, as sentences.
    """

    source: NamedInstance
    document: Mapping[str, Any]
    objective: int
    notes: tuple[str, ...] = ()


def solution_in(path: Path, chosen: Choice) -> GivenSolution:
    """Return a solution in a file, with the model's instance that it solves."""
    meant = _of_text(path, chosen)
    if meant is not None:
        return meant
    texts = chosen.problem.table.texts if chosen.problem.table else None
    if texts is not None and not os.path.exists(path):
        raise InvalidInputError(
            f"{quoted(str(path).strip())} is neither a file nor a split in a form that is read; "
            f"expected {texts.forms}."
        )
    found = read_solution_file(path, chosen.problem.table)
    with naming(path):
        return given_solution(chosen, found)


def _of_text(path: Path, chosen: Choice) -> GivenSolution | None:
    """Return the solution in another tool's format, from a file or from the text itself."""
    table = chosen.problem.table
    if table is None or table.texts is None or path.suffix.lower() == ".csv":
        return None
    text = str(path)
    # Unlike `Path.is_file`, it takes a text of any length.
    if os.path.exists(path):
        text = read_bytes(path, "a solution", LARGEST_FILE).decode(errors="replace")
    with naming("the solution" if text == str(path) else path):
        implied = {} if chosen.is_stored else table.texts.implied(text)
        meant = {name: value for name, value in implied.items() if name not in chosen.given}
        chosen = replace(chosen, given={**chosen.given, **meant})
        found = table.texts.read(text, chosen.make(chosen.any_parameters))
        if found is None:
            return None
        solution, notes = found
        given = given_solution(chosen, solution.to_json())
        taken = [
            f"{name}={value}, as the solution is in that form (--{name} says otherwise)"
            for name, value in meant.items()
            if given.source.instance.parameters.get(name) == value
        ]
        return replace(given, notes=(*notes, *taken, *given.notes))


def given_solution(chosen: Choice, found: Any) -> GivenSolution:
    """Return a solution that was read, with the instance that it solves."""
    instance, solution, notes = _matched(chosen, found)
    document = checked_document(instance, solution)
    return GivenSolution(chosen.named(instance), document, document["objective"], notes)


def checked_document(instance: Instance, solution: Solution) -> dict[str, Any]:
    """Return a solution in its stored form, with its objective, which the checker has accepted."""
    document = solution_document(instance, solution, instance.objective(solution))
    try:
        # The last word is the checker's, as for every solution.
        checker.check_solution(instance.to_json(), document)
    except checker.Rejected as error:
        raise InvalidInputError(f"the checker rejects it: {error}.") from error
    return document


def _matched(chosen: Choice, found: Any) -> tuple[Instance, Any, tuple[str, ...]]:
    """Return the instance, the solution and notes, with the parameters that it implies."""
    problem = chosen.problem
    first = chosen.make(chosen.any_parameters)
    notes: list[str] = []
    if isinstance(found, dict):
        if found.get("problem", problem.name) != problem.name:
            raise InvalidInputError(
                f"it is a solution of problem {found['problem']!r}; expected {problem.name!r}."
            )
        solution = problem.solution_from_json(found)
    else:
        assert problem.table is not None
        solution = solution_of_rows(first, found)
        completion = presentation_of(problem.name).completion
        notes += [completion] if completion else []
    parameters = dict(chosen.given)
    if problem.table is not None and not chosen.is_stored:
        meant, implied = problem.table.implied(solution)
        missing = {name: value for name, value in implied.items() if name not in parameters}
        if missing:
            parameters |= missing
            facts = " ".join(f"{name}={value}" for name, value in missing.items())
            note = f"{facts}, as the solution has it, because no option says so"
            if "format" not in found and meant.to_json() != solution.to_json():
                solution = meant
                note += "; its numbers were closed up to begin at 0"
            notes.append(note)
    instance = chosen.make(parameters)
    if isinstance(found, dict) and found.get("format") == SOLUTION_FORMAT:
        _check_owner(found, instance, "; ".join(notes))
    return instance, solution, tuple(notes)


def _check_owner(document: Mapping[str, Any], instance: Instance, note: str) -> None:
    owner = document.get("instance_sha256")
    if owner != instance.sha256:
        hint = f" ({note})" if note else ""
        raise InvalidInputError(
            f"it is a solution of instance {str(owner)[:12]!r}; "
            f"expected one of {instance.sha256[:12]!r}{hint}."
        )


@dataclass(frozen=True)
class StoredBound:
    """A certified bound in ticks, its certificate, and the method that found it."""

    bound: int
    certificate: dict[str, Any]
    method: str


def best_stored_bound(directory: Path, instance: Instance) -> StoredBound | None:
    """Return the best bound on an instance that a results folder has and the checker accepts."""
    from boundmark.reports.stored.store import ResultStore
    from boundmark.reports.tables.rows import best_rows

    store = ResultStore.open(directory)
    rows = store.results()
    own = rows[rows["instance_sha256"] == instance.sha256]
    found = best_rows(own, "bound_certified", highest=True)
    if found.empty:
        return None
    best = found.iloc[0]
    path = store.certificates / f"{best['certificate_sha256']}.json"
    try:
        certificate = checker.read_document(path)
        checker.check_certificate(instance.to_json(), certificate)
    except checker.Rejected as error:
        raise StoreError(f"{path} is rejected by the checker: {error}.") from error
    if certificate["bound"] != int(best["bound_certified"]):
        raise StoreError(f"{path} states another bound than its row.")
    return StoredBound(int(best["bound_certified"]), certificate, str(best["method"]))


def bound_plan(problem: str, names: Sequence[str] = ()) -> MethodPlan:
    """Return the methods that prove bounds: those asked for, or the default ones of a problem."""
    plan = MethodPlan.of(problems()[problem], names, ("bound", "exact"))
    for choice in plan.all:
        if choice.method.kind == "heuristic":
            raise InvalidInputError(
                f"method {choice.method.name!r} finds no bounds; expected methods that do."
            )
    return plan


def graded(found: Answer, given: GivenSolution) -> Answer:
    """Return the answer about the given solution, even if methods have found better ones."""
    notes = [*found.warnings, *given.notes]
    if found.objective is not None and found.objective < given.objective:
        notes.append(
            f"there is a better solution: {found.objective:,} by {found.method}; "
            "`boundmark solve` prints it"
        )
    return replace(
        found,
        objective=given.objective,
        solution=dict(given.document),
        method=GIVEN,
        warnings=tuple(notes),
    )
