import itertools

import numpy as np
import pytest
from brute_force_placement import instance, optimum

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.loads.intervals import best_threshold, bound_interval
from boundmark.bounds.placement.methods.critical_path import earliest_ends
from boundmark.bounds.placement.methods.interval_load import intervals_inside
from boundmark.problems.method import Budget

TWO_MODULES = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5)]


def test_intervals_end_where_paths_meet() -> None:
    """They begin with the last operator that all these paths passed."""
    sample = instance([[1, 1]] * 6, TWO_MODULES)
    assert intervals_inside(sample.graph) == [(0, 3), (3, OUTSIDE)]
    assert intervals_inside(instance([[1, 1]] * 3, [(0, 2), (1, 2)]).graph) == []


@pytest.mark.parametrize("length", [0, 1, 3, 8])
def test_two_equal_operators_between(length: int) -> None:
    """With both ends on one device: one after another, or one of them there and back."""
    sample = instance(
        [[1, 1], [5, 5], [5, 5], [1, 1]], TWO_MODULES[:4], times=[[0, length, length, 0]]
    )
    network = Network(checker.check_instance(sample.to_json()))
    interval = bound_interval(network, 0, 3, Budget(60))
    assert interval.jump.least[0][0] == min(10, 5 + 2 * length)
    assert interval.jump.least[0][1] == interval.jump.least[1][0]
    # A transfer at least, and not more than the work of one device and a transfer.
    assert 5 + length <= interval.jump.least[0][1] <= min(10 + length, 5 + 2 * length)


def test_a_path_is_not_stated_again() -> None:
    """Rows are for what paths do not prove."""
    sample = instance([[1, 2], [3, 4], [2, 2]], [(0, 1), (1, 2)])
    network = Network(checker.check_instance(sample.to_json()))
    interval = bound_interval(network, OUTSIDE, OUTSIDE, Budget(60))
    assert interval.rows == []
    assert interval.jump.least == [[6]] == [[optimum(sample)]]


def test_thresholds_are_the_largest_that_the_program_refutes() -> None:
    """On a device that has to do all, they reach the sum."""
    nothing = np.zeros((3, 1), dtype=np.int64)
    threshold, weights = best_threshold(nothing, np.array([[3], [4], [5]]), nothing, 5)
    assert threshold == 11
    assert weights[0] > 0


def test_longest_paths_are_those_of_the_checker() -> None:
    """The producer's array program and the checker's loops agree, device by device."""
    rows = [[3, 5, 4], [2, 2, -1], [0, 1, 7], [4, 4, 4]]
    pairs = list(itertools.combinations(range(4), 2))
    for chosen in range(2 ** len(pairs)):
        edges = [pair for bit, pair in enumerate(pairs) if chosen >> bit & 1]
        sample = instance(rows, edges, times=[[0, 2, 9, 1, 0, 3, 2, 2, 0]])
        bound = int(earliest_ends(sample.graph).min(axis=1).max())
        network = Network(checker.check_instance(sample.to_json()))
        body = network.between(OUTSIDE, OUTSIDE)
        assert network.heads(OUTSIDE, 0, body, OUTSIDE)[1] == [bound]
