"""Backtracking: its switches change what it does, not what it finds."""

import itertools

import pytest
from brute_force_ordering import instance, topological_orders
from recording import record
from tiny_instances import tiny

from boundmark.bounds.ordering.btsearch import Backtracking
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget

# Two modules of two branches of two operators each.
TENSORS = [
    (2, 0, [1, 3]), (9, 1, [2]), (1, 2, [5]), (9, 3, [4]), (1, 4, [5]), (2, 5, [6, 8]),
    (9, 6, [7]), (1, 7, [10]), (9, 8, [9]), (1, 9, [10]),
]  # fmt: skip


@pytest.mark.parametrize(("marking", "hashing"), [*itertools.product([False, True], repeat=2)])
def test_switches_do_not_change_the_optimum(marking: bool, hashing: bool) -> None:
    """Of all tiny instances; without marking, every order is tried."""
    for sample, best in tiny("ordering")[::3]:
        search = Backtracking(sample, marking, hashing)
        orders = list(search.orders(Budget(60.0)))
        assert search.best == best
        if not marking:
            prefixes = {
                order[:size]
                for order in topological_orders(sample)
                for size in range(1, sample.nodes + 1)
            }
            assert search.steps == len(prefixes)
        assert len(orders) <= search.steps


def test_marking_spares_the_second_module() -> None:
    """It is searched once, and not for each of the first one's six orders."""
    sample = instance(11, TENSORS, metric="sum")
    steps = {}
    for marking in (False, True):
        search = Backtracking(sample, marking, True)
        list(search.orders(Budget(60.0)))
        steps[marking] = search.steps
    assert steps[False] > 4 * steps[True]


def test_finished_searches_are_certified() -> None:
    """By a search that the checker repeats; unfinished ones are not."""
    sample = instance(11, TENSORS, metric="sum")
    recorder = record("btsearch", sample)
    best = min(sample.objective(solution) for solution in recorder.solutions)
    (bound,) = recorder.bounds
    assert isinstance(bound, Certificate)
    assert bound.bound == best
    wide = instance(13, [(v, v, [12]) for v in range(12)])
    assert not record("btsearch", wide, seconds=0.05, params={"marking": False}).bounds
