"""Costs that add up to 2^53: what every registered method must do with them.

`nox -s properties` tries more instances.
"""

from functools import cache

import pytest
from hypothesis import settings
from large_numbers import largest_factor, record_strictly
from other_process import call
from recording import FEW_EVALUATIONS
from tiny_instances import runs_elsewhere, samples, tiny

from boundmark.bounds import checker
from boundmark.problems.catalog import methods, problems
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Method
from boundmark.problems.problem import Instance, solution_document

METHODS = tuple(methods().values())
# Near the powers of two, and not divisible by one.
FACTORS = (2**30 - 35, 2**39 - 7, 2**45 - 55)
# A hundredth of what Hypothesis tries.
INSTANCES = max(1, settings.default.max_examples // 100)


@cache
def large(problem: str) -> list[tuple[Instance, int]]:
    """Return tiny instances with large costs, and their optimum."""
    every, scaled = tiny(problem), samples(problem).scaled
    found = []
    for sample, best in every[len(every) // INSTANCES - 1 :: len(every) // INSTANCES]:
        largest = largest_factor(lambda factor, s=sample, b=best: scaled(s, b, factor))
        factors = [factor for factor in FACTORS if factor < largest]
        found += [scaled(sample, best, factor) for factor in (*factors, largest)]
    return found


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_large_costs(method: Method) -> None:
    """A method works as ever, or says what it cannot treat; it never warns or overflows."""
    if not hasattr(samples(method.problem), "scaled"):
        pytest.skip("its package does not say how instances are scaled")
    params = {name: few for name, few in FEW_EVALUATIONS.items() if name in method.params}
    for sample, best in large(method.problem):
        try:
            if runs_elsewhere(method):
                recorder = call(record_strictly, method.name, sample, 1.0, params)
            else:
                recorder = record_strictly(method.name, sample, 1.0, params)
        except UnsupportedError:
            continue
        document = sample.to_json()
        for solution in recorder.solutions:
            objective = sample.objective(solution)
            assert objective >= best
            stored = solution_document(sample, solution, objective)
            assert checker.check_solution(document, stored) == objective
        for bound in recorder.bounds:
            assert bound.bound <= best
            if isinstance(bound, Certificate):
                assert checker.check_certificate(document, bound.to_json()) >= bound.bound


@pytest.mark.parametrize("problem", problems())
def test_larger_costs_are_refused(problem: str) -> None:
    """When the instance is built, in a sentence that says what is expected."""
    if not hasattr(samples(problem), "scaled"):
        pytest.skip("its package does not say how instances are scaled")
    sample, best = tiny(problem)[-1]
    with pytest.raises(
        InvalidInputError,
        match=r"expected at most|coarser tick|larger unit|expected an integer from",
    ):
        samples(problem).scaled(sample, best, 2**54)
