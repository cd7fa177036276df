"""`memory-latency` at amounts and ticks whose products exceed 64 bits."""

import itertools

import pytest
from brute_force_microbatch import layout
from other_process import call
from recording import record

from boundmark.bounds import checker
from boundmark.problems.certificate import Certificate
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
