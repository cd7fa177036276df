"""One solution for several costs of a model, and how far from each optimum it can be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from boundmark.benchmarks.answer import Answer, ModelAnswer, json_of, named_solution, warnings_about
from boundmark.benchmarks.arguments import names_in
from boundmark.benchmarks.grading.given_solution import checked_document
from boundmark.benchmarks.kernels import compile_kernels
from boundmark.benchmarks.model import Choice
from boundmark.benchmarks.presentation import COMMON_FIELDS, presentation_of
from boundmark.benchmarks.progress import progress_console
from boundmark.benchmarks.suite import NamedInstance
from boundmark.problems.catalog import problems
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Deferred
from boundmark.problems.problem import COSTS, Solution

# Who has found a solution for several costs.
METHOD = "several-costs"

# Fraction of the time in which each costs are solved alone, for bounds and first solutions.
ALONE = 0.5

# Of the search for all costs, however little the others have left.
LEAST_SECONDS = 1.0


@dataclass(frozen=True)
class CommonAnswer:
    """What one solution costs in several costs, each with a certified bound.

    Attributes
    ----------
    by_costs
        The answer about the solution in each costs, by what the user calls them.
    seconds
        Wall time of the search.
    """

    by_costs: Mapping[str, Answer]
    seconds: float

    @property
    def worst(self) -> str:
        """The costs with the largest ratio of the solution's cost to the certified bound.

        The first ones that have no bound, if there are such.
        """
        return max(self.by_costs, key=lambda name: _ratio(self.by_costs[name]) or float("inf"))

    @property
    def largest_ratio(self) -> float | None:
        """That ratio, at least 1; None if a bound or the solution is missing."""
        ratio = _ratio(self.by_costs[self.worst])
        return None if ratio is None else float(ratio)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return any(answer.interrupted for answer in self.by_costs.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each costs: what they are, the solution's cost, the bound, the gap."""
        return [
            {
                "costs": name,
                "cost": answer.objective,
                "bound": answer.certified_bound,
                "gap": 0.0 if answer.optimal else answer.gap,
                "source": answer.source.costs,
            }
            for name, answer in self.by_costs.items()
        ]

    def to_json(self, files: Mapping[str, Mapping[str, Path]]) -> dict[str, Any]:
        """Return the object that `--json` prints.

        Parameters
        ----------
        files
            The stored files of each costs.
        """
        worst = self.by_costs[self.worst]
        solution = worst.solution or {}
        return {
            "problem": worst.source.instance.problem,
            "largest_ratio": self.largest_ratio,
            "worst": self.worst,
            "solution": {k: v for k, v in solution.items() if k not in COMMON_FIELDS} or None,
            "named_solution": named_solution(worst),
            "by_costs": {
                name: json_of(answer, files.get(name, {})) for name, answer in self.by_costs.items()
            },
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
        }


def _ratio(answer: Answer) -> Fraction | None:
    if answer.optimal:
        return Fraction(1)
    if answer.objective is None or not answer.certified_bound:
        return None
    return Fraction(answer.objective, answer.certified_bound)


@dataclass(frozen=True, repr=False, eq=False)
class CommonModelAnswer(ModelAnswer):
    """The answer of `solve` or `evaluate` with a list of costs: one solution for all of them.

    Cost, bound, gap and certificate are those in the costs with the largest gap.

    Attributes
    ----------
    common
        All there is to know, for each costs.
    """

    common: CommonAnswer = field(kw_only=True)

    @classmethod
    def of(cls, common: CommonAnswer, folder: Path | None) -> "CommonModelAnswer":
        """Return the answer that Python callers get."""
        return cls(common.by_costs[common.worst], folder, common=common)

    @property
    def largest_ratio(self) -> float | None:
        """Largest ratio of cost to bound; None unless all are known."""
        return self.common.largest_ratio

    @property
    def by_costs(self) -> pd.DataFrame:
        """A row for each costs: `costs` as given, `cost`, `bound`, `gap` and `source`, in words."""
        return pd.DataFrame(self.common.rows())

    @property
    def seconds(self) -> float:
        """Wall time of the search, in seconds."""
        return self.common.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes in each of the costs."""
        answers = map(ModelAnswer, self.common.by_costs.values())
        return tuple(dict.fromkeys(note for answer in answers for note in answer.notes))

    def facts(self) -> dict[str, str | tuple[str, ...]]:
        """Return the largest ratio, then cost, bound and gap in the costs where it is, in words."""
        ratio = self.largest_ratio
        of_all = f"of {', '.join(self.common.by_costs)}"
        words = "unknown" if ratio is None else f"{ratio:.4f}, in {self.common.worst} {of_all}"
        return {**super().facts(), "largest ratio": words}


def each_costs(given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return a caller's parameters with each of the costs, by their names, if several are given.

    Raises
    ------
    InvalidInputError
        If the list is empty, or has something else than texts.
    """
    costs = given.get(COSTS.name)
    if not isinstance(costs, list | tuple):
        return {"": given}
    names = names_in(COSTS.name, costs, "source of times")
    if not names:
        raise InvalidInputError("costs is an empty list; expected at least one source of times.")
    return {name: {**given, COSTS.name: name} for name in names}


def check_takes_several(choice: Choice, given: Mapping[str, Any]) -> None:
    """Refuse several costs for a problem that means something else by them.

    Raises
    ------
    InvalidInputError
        If `costs` is a parameter of the problem itself.
    """
    if COSTS.name in given and COSTS not in choice.problem.options:
        raise InvalidInputError(
            "costs is given more than once, and is a parameter of problem "
            f"{choice.problem.name!r} itself; expected one value."
        )


def search_of(problem: str) -> Deferred:
    """Return the search for one solution for several costs.

    Raises
    ------
    InvalidInputError
        If the problem has none.
    """
    found = presentation_of(problem).common_search
    if found is None:
        able = [name for name in problems() if presentation_of(name).common_search is not None]
        raise InvalidInputError(
            f"one solution for several costs is asked for, of problem {problem!r}; expected one of "
            f"{', '.join(able)}, or one device and one costs."
        )
    return found


@dataclass
class _Latest:
    """A progress that keeps the latest solution."""

    found: Solution | None

    def solution(self, solution: Solution) -> None:
        """Keep a solution."""
        self.found = solution

    def bound(self, bound: Certificate | Claim) -> None:
        """Ignore a bound."""


def solve_for_all(
    sources: Mapping[str, NamedInstance],
    solve_one: Callable[[NamedInstance, float], Answer],
    seconds: float,
    seed: int,
    *,
    quiet: bool,
) -> CommonAnswer:
    """Find a solution whose largest ratio of cost to certified bound is as small as possible.

    Each costs are solved alone first, in equal shares of half of the time.

    Parameters
    ----------
    sources
        The instances of one model with each costs, by what the user calls these.
    solve_one
        Solves one instance within some seconds.
    quiet
        Whether no progress is shown on standard error.

    Raises
    ------
    InvalidInputError
        If the problem has no such search.
    """
    problem = next(iter(sources.values())).instance.problem
    deferred = search_of(problem)
    alone: dict[str, Answer] = {}
    for name, source in sources.items():
        if not any(answer.interrupted for answer in alone.values()):
            alone[name] = solve_one(source, ALONE * seconds / len(sources))
    read = problems()[problem].solution_from_json
    starts = [read(answer.solution) for answer in alone.values() if answer.solution is not None]
    best = _Latest(starts[0] if starts else None)
    interrupted = any(answer.interrupted for answer in alone.values())
    spent = sum(answer.seconds for answer in alone.values())
    if not interrupted:
        console = progress_console(quiet)
        compile_kernels(console, problem)
        instances = [source.instance for source in sources.values()]
        references = [one.certified_bound or one.objective or 1 for one in alone.values()]
        try:
            with console.status(f"one solution for {', '.join(sources)} ..."):
                search = deferred.load()
                budget = Budget(max(LEAST_SECONDS, seconds - spent))
                search(instances, references, starts, budget, seed, best)
                spent += budget.spent()
        except KeyboardInterrupt:
            interrupted = True
    answers = {
        name: replace(_about(source, alone.get(name), best.found), interrupted=interrupted)
        for name, source in sources.items()
    }
    return CommonAnswer(answers, spent)


def _about(source: NamedInstance, alone: Answer | None, solution: Solution | None) -> Answer:
    """Return the answer about a solution, with the bound of an answer about the best one."""
    if alone is None:
        alone = Answer(source, warnings=warnings_about(source))
    if solution is None:
        return alone
    document = checked_document(source.instance, solution)
    return replace(alone, objective=document["objective"], solution=document, method=METHOD)
