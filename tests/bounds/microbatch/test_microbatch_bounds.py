"""Bounds of `microbatch`: large numbers, solvers that are missing, and trees over phases."""

import itertools
import sys
from typing import Any
from unittest import mock

import pytest
from brute_force_microbatch import instances, layout, optimum
from hypothesis import given
from other_process import call
from recording import record

from boundmark.bounds import checker
from boundmark.datasets.microbatch import shapes
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import MicrobatchInstance


def held(ticks: int, unit: int, crossed: bool) -> int:
    """Return the bound with two allocations and two releases that both of them wait for."""
    blocks = [("F", ticks, unit, (0,)), ("F", 2 * ticks, unit, (0,)), ("F", 5 * ticks, 0, (1,)),
              ("B", ticks, -unit, (0,)), ("B", ticks, -unit, (0,))]  # fmt: skip
    edges = [(0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]
    if crossed:
        edges.append((0, 1))
    sample = MicrobatchInstance.of(layout(blocks, sorted(edges), 2), memory=2 * unit)
    (bound,) = call(record, "memory-latency", sample).bounds
    assert isinstance(bound, Certificate)
    assert checker.check_certificate(sample.to_json(), bound.to_json()) == bound.bound
    return bound.bound


@pytest.mark.parametrize(
    ("ticks", "unit", "crossed"),
    [*itertools.product((2**28, 2**29 - 3), (2**30, 2**32), (True, False))],
)
def test_bounds_are_as_strong_as_with_small_numbers(ticks: int, unit: int, crossed: bool) -> None:
    """What is added up is added up exactly."""
    assert held(ticks, unit, crossed) == -(-ticks * held(2, 1, crossed) // 2)


def errors_without_ortools(method: str) -> list[str]:
    """Return the errors of a method where OR-Tools is not installed."""
    sample = MicrobatchInstance.of(shapes.load("v-4-train"))
    with mock.patch.dict(sys.modules, {"ortools": None}):
        try:
            record(method, sample)
        except UnsupportedError as error:
            return [str(error)]
    return []


@pytest.mark.parametrize("method", ["memory-latency", "modulo", "modulo-tree"])
def test_a_missing_solver_is_named(method: str) -> None:
    """Methods of an installation without OR-Tools say so, instead of failing to import."""
    assert errors_without_ortools(method) == ["module ortools is not installed."]


@given(instances((0,)))
def test_trees_prove_nothing_false(sample: MicrobatchInstance) -> None:
    """Whatever periods are refuted are below the optimum, and the checker agrees."""
    for bound in call(record, "modulo-tree", sample).bounds:
        document: Any = bound
        assert bound.bound <= optimum(sample)
        assert checker.check_certificate(sample.to_json(), document.to_json()) == bound.bound


@pytest.mark.parametrize(("member", "memory", "period"), [("m-4-train", 4, 7), ("v-4-train", 3, 8)])
def test_trees_prove_what_memory_costs(member: str, memory: int, period: int) -> None:
    """With little memory, periods without bubbles are refuted, up to the optimum."""
    sample = MicrobatchInstance.of(shapes.load(member), memory=memory)
    assert call(record, "modulo-tree", sample).bounds[-1].bound == period
    assert call(record, "modulo", sample).bounds[-1].bound == period
