"""Of small instances of all problems, the checker says what definitions and enumeration say."""

import random
from typing import Any

import pytest
from checking import Document, cost_or_reason, prove
from definitions import DEFINITIONS
from selection import each_seed

from boundmark.problems.catalog import problems
from boundmark.problems.errors import BoundmarkError

SEEDS = range(60)


def by_package(sample: Any, problem: str, solution: Document) -> int | None:
    """Return what a solution costs by the package; None if it breaks a constraint."""
    try:
        cost: int = sample.objective(problems()[problem].solution_from_json(solution))
    except BoundmarkError:
        return None
    return cost


@each_seed(SEEDS)
@pytest.mark.parametrize("problem", DEFINITIONS)
def test_solutions_cost_what_they_cost(problem: str, seed: int) -> None:
    """Each is valued as by its definition, by the package too, or refused for a constraint."""
    definition = DEFINITIONS[problem]
    sample = definition.drawn(seed)
    for solution, cost in definition.solutions(sample, random.Random(seed)):
        found = cost_or_reason(sample, solution)
        assert (found if isinstance(found, int) else None) == cost, (solution, found)
        assert by_package(sample, problem, solution) == cost, solution


@each_seed(SEEDS)
@pytest.mark.parametrize("problem", DEFINITIONS)
def test_certificates_prove_what_they_say(problem: str, seed: int) -> None:
    """Each proves what the documentation says of it, and never more than the optimum."""
    definition = DEFINITIONS[problem]
    sample = definition.drawn(seed)
    best = definition.optimum(sample)
    for kind, payload, possible in definition.claims(sample, random.Random(seed)):
        found = prove(sample, kind, payload)
        assert possible is ... or found in possible, (kind, payload, found)
        assert found is None or found <= best, (kind, payload)
