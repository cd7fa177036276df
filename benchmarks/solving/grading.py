"""Read a user's solution and the instance that it solves, and grade it, also under noise."""

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from boundmark.problems.catalog import methods, problems
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import BoundmarkError, InvalidInputError, StoreError, find
from boundmark.problems.files import LARGEST_FILE, naming, read_bytes
from boundmark.problems.method import Budget, Method
from boundmark.problems.noise import Lead, Noise, lead_over
from boundmark.problems.problem import SOLUTION_FORMAT, Instance, Solution, solution_document
from boundmark.reports.stored.store import ResultStore
from boundmark.reports.tables.rows import best_rows


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
    """Return a solution in a file, with the model's instance that it solves.

    Parameters
    ----------
    chosen
        The model and parameters. Where neither they nor a stored instance say what they are, the
        solution does: a partition is for as many stages as it uses.

    Raises
    ------
    InvalidInputError
        If the file is no solution of this instance.
    """
    meant = _of_text(path, chosen)
    if meant is not None:
        return meant
    found = read_solution_file(path, chosen.problem.table)
    with naming(path):
        return given_solution(chosen, found)


def _of_text(path: Path, chosen: Choice) -> GivenSolution | None:
    """Return the solution in another tool's format, from a file or from the text itself."""
    table = chosen.problem.table
    if table is None or table.of_text is None or path.suffix.lower() == ".csv":
        return None
    text = str(path)
    # Unlike `Path.is_file`, it takes a text of any length.
    if os.path.exists(path):
        text = read_bytes(path, "a solution", LARGEST_FILE).decode(errors="replace")
    with naming("the solution" if text == str(path) else path):
        solution = table.of_text(text, chosen.make(chosen.any_parameters))
        return None if solution is None else given_solution(chosen, solution.to_json())


def given_solution(chosen: Choice, found: Any) -> GivenSolution:
    """Return a solution that was read, with the instance that it solves.

    Parameters
    ----------
    found
        What a file says, from `read_solution_file`, or an object, from `written_solution`.

    Raises
    ------
    InvalidInputError
        If it is no solution of this instance.
    """
    instance, solution, notes = _matched(chosen, found)
    document = checked_document(instance, solution)
    return GivenSolution(chosen.named(instance), document, document["objective"], notes)


def checked_document(instance: Instance, solution: Solution) -> dict[str, Any]:
    """Return a solution in its stored form, with its objective, which the checker has accepted.

    Raises
    ------
    InvalidInputError
        If it is no solution of this instance.
    """
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
    """Return the best bound on an instance that a results folder has and the checker accepts.

    Raises
    ------
    StoreError
        If the folder holds no results, or its best certificate for the instance is rejected.
    """
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
    """Return the methods that prove bounds: those asked for, or the default ones of a problem.

    Raises
    ------
    InvalidInputError
        If one that is asked for finds no bounds.
    """
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


# Baselines are what one has without a search.
SECONDS = 10.0


@dataclass(frozen=True)
class Robustness:
    """A solution's cost and lead over a baseline under noise.

    Attributes
    ----------
    baseline
        The method whose solution it is held against, and its cost without noise.
    lead
        1 - the solution's cost / the baseline's, without noise.
    draws
        How often times were drawn.
    by_deviation
        The same with noise, by its standard deviation.
    """

    baseline: str
    baseline_cost: int
    lead: float
    draws: int
    by_deviation: dict[float, Lead]


def robustness(
    given: GivenSolution, deviations: Sequence[float], draws: int, against: str | None
) -> Robustness:
    """Return a solution's cost, and its lead over a baseline, when times are drawn at random.

    Parameters
    ----------
    against
        The baseline, a method; None for the first one of the problem's baselines that has a
        solution.

    Raises
    ------
    InvalidInputError
        If the problem's costs are no times that can be drawn, noise is none, or the baseline finds
        no solution.
    """
    instance = given.source.instance
    problem = problems()[instance.problem]
    if problem.noisy_costs is None:
        able = sorted(name for name, one in problems().items() if one.noisy_costs is not None)
        raise InvalidInputError(
            f"--noise is given for problem {problem.name!r}; expected one of {', '.join(able)}."
        )
    noises = [Noise(deviation, draws) for deviation in deviations]
    baseline, reference = _baseline(instance, against)
    solution = problem.solution_from_json(given.document)
    cost = instance.objective(reference)
    return Robustness(
        baseline,
        cost,
        1 - given.objective / cost if cost else float("nan"),
        draws,
        {
            noise.deviation: lead_over(
                problem.noisy_costs(instance, solution, noise),
                problem.noisy_costs(instance, reference, noise),
                given.objective,
            )
            for noise in noises
        },
    )


def _baseline(instance: Instance, against: str | None) -> tuple[str, Any]:
    """Return a baseline's name and its solution."""
    known = methods(instance.problem)
    if against is not None:
        solution = _solution(find("method", against, known), instance)
        if solution is None:
            raise InvalidInputError(f"{against} finds no solution to hold the given one against.")
        return against, solution
    # Imports all tables of reports.
    from boundmark.reports.report import report_of

    names = report_of(instance.problem)[0].baselines
    for name in names:
        solution = _solution(known[name], instance)
        if solution is not None:
            return name, solution
    raise InvalidInputError(
        f"{' and '.join(names) or 'no method'} finds no solution to hold the given one against; "
        "expected another one with --baseline."
    )


def _solution(method: Method, instance: Instance) -> Any | None:
    """Return the best solution that a method finds, None without any."""
    kept = _Best(instance)
    with suppress(BoundmarkError):
        method.run(instance, Budget(wall_seconds=SECONDS), 1, kept, **method.params)
    return kept.found


class _Best:
    """Keeps the best solution that is reported."""

    def __init__(self, instance: Instance) -> None:
        self._instance, self._cost = instance, math.inf
        self.found: Any | None = None

    def solution(self, solution: Any) -> None:
        cost = self._instance.objective(solution)
        if cost < self._cost:
            self._cost, self.found = cost, solution

    def bound(self, bound: Certificate | Claim) -> None:
        """Leave bounds out."""
