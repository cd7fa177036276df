"""Costs that add up to 2^53: what every registered method must do with them.

`nox -s properties` tries more instances and more factors.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import settings
from large_numbers import largest_factor, record_strictly
from other_process import call
from recording import FEW_EVALUATIONS, Recorder
from tiny_instances import runs_elsewhere, samples, tiny

from boundmark.bounds import checker
from boundmark.problems.catalog import methods, problems
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Method
from boundmark.problems.problem import Instance, solution_document

METHODS = tuple(methods().values())

# A hundredth of what Hypothesis tries.
INSTANCES = max(1, settings.default.max_examples // 100)

# Near the powers of two, and not divisible by one; the largest factor of an instance comes last.
FACTORS = (2**30 - 35, 2**39 - 7, 2**45 - 55) if INSTANCES > 1 else ()

# Most methods end by themselves.
SECONDS = 4.0

# Each compiles for seconds what hardly depends on costs; `hsdag`, which is like them, is tried.
COMPILING = {"placeto", "rnn-seq2seq"} if INSTANCES == 1 else set()


# Methods that treat less than 2^53 ticks, and what they say.
LIMITED = {
    "modulo-tree": "expected fewer than 1,024, since all phases are tried.",
    "tessel": "expected at most 4,096, or memory = pairs.",
    "time-optimal": "expected at most 4,096, or memory = pairs.",
}


@dataclass(frozen=True)
class Found:
    """What a method found, all of it checked: its best cost, certified bound and bound."""

    cost: float | None
    certified: float | None
    bound: float | None

    def serves(self, other: "Found", scale: float) -> bool:
        """Whether there is all that there is with other costs, and at least half as good."""
        return (
            (other.cost is None or (self.cost is not None and self.cost <= 2 * scale * other.cost))
            and _is_bound(self.certified, other.certified, scale)
            and _is_bound(self.bound, other.bound, scale)
        )


def _is_bound(own: float | None, other: float | None, scale: float) -> bool:
    return other is None or (own is not None and 2 * own >= scale * other)


def run(method: Method, sample: Instance) -> Recorder | UnsupportedError:
    """Run a method with few evaluations; it neither warns nor fails, but may not treat it."""
    params = {name: few for name, few in FEW_EVALUATIONS.items() if name in method.params}
    try:
        if runs_elsewhere(method):
            return call(record_strictly, method.name, sample, SECONDS, params)
        return record_strictly(method.name, sample, SECONDS, params)
    except UnsupportedError as refused:
        return refused


def checked(recorder: Recorder, sample: Instance, best: int) -> Found:
    """Return the best of what a method reported, after checking all of it."""
    document = sample.to_json()
    costs, certified = [], []
    for solution in recorder.solutions:
        objective = sample.objective(solution)
        assert objective >= best
        stored = solution_document(sample, solution, objective)
        assert checker.check_solution(document, stored) == objective
        costs.append(objective)
    for bound in recorder.bounds:
        assert bound.bound <= best
        if isinstance(bound, Certificate):
            assert checker.check_certificate(document, bound.to_json()) >= bound.bound
            certified.append(bound.bound)
    bounds = (bound.bound for bound in recorder.bounds)
    return Found(min(costs, default=None), max(certified, default=None), max(bounds, default=None))


def treated(method: Method) -> Iterator[tuple[Instance, int, Found]]:
    """Yield tiny instances that a method treats, their optimum, and what it finds.

    Larger ones come first, spread over all if there are several.
    """
    every = tiny(method.problem)[::-1]
    step = max(1, len(every) // INSTANCES)
    left = INSTANCES
    for sample, best in [one for first in range(step) for one in every[first::step]]:
        recorder = run(method, sample)
        if isinstance(recorder, UnsupportedError):
            continue
        found = checked(recorder, sample, best)
        # Bounds of 0 say nothing at any scale.
        if best and (found.cost or found.bound):
            yield sample, best, found
            left -= 1
        if not left:
            return


@cache
def large(problem: str, sample: Instance, best: int) -> list[tuple[Instance, int]]:
    """Return an instance with large costs, and their optimum."""
    scaled = samples(problem).scaled
    largest = largest_factor(lambda factor: scaled(sample, best, factor))
    factors = [factor for factor in FACTORS if factor < largest]
    return [scaled(sample, best, factor) for factor in (*factors, largest)]


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_large_costs(method: Method) -> None:
    """What a method finds at small costs it finds at large ones, or it says which it can treat."""
    if not hasattr(samples(method.problem), "scaled"):
        pytest.skip("its package does not say how instances are scaled")
    if method.name in COMPILING:
        pytest.skip("it compiles for seconds; nox -s properties runs it")
    tried = 0
    for sample, best, found in treated(method):
        for instance, optimum in large(method.problem, sample, best):
            tried += 1
            recorder = run(method, instance)
            if isinstance(recorder, UnsupportedError):
                expected = LIMITED.get(method.name)
                assert expected is not None, recorder
                assert str(recorder).endswith(expected)
                continue
            again = checked(recorder, instance, optimum)
            assert again.serves(found, optimum / best), f"{again} on {instance.to_json()}"
    assert tried


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
