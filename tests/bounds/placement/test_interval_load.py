import itertools

import networkx as nx
import numpy as np
import pytest
from brute_force_placement import instance, optimum
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds import checker
from boundmark.bounds.checker.placement.paths import OUTSIDE, Network
from boundmark.bounds.placement.assignment_load import AssignmentProgram, Weights
from boundmark.bounds.placement.critical_path import earliest_ends
from boundmark.bounds.placement.interval_load import (
    IntervalTicks,
    best_threshold,
    bound_interval,
    immediate_dominators,
    intervals_inside,
)
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
    assert interval is not None
    assert interval.jump.least[0][0] == min(10, 5 + 2 * length)
    assert interval.jump.least[0][1] == interval.jump.least[1][0]
    # A transfer at least, and not more than the work of one device and a transfer.
    assert 5 + length <= interval.jump.least[0][1] <= min(10 + length, 5 + 2 * length)


def test_a_path_is_not_stated_again() -> None:
    """Rows are for what paths do not prove."""
    sample = instance([[1, 2], [3, 4], [2, 2]], [(0, 1), (1, 2)])
    network = Network(checker.check_instance(sample.to_json()))
    interval = bound_interval(network, OUTSIDE, OUTSIDE, Budget(60))
    assert interval is not None
    assert interval.rows == []
    assert interval.jump.least == [[6]] == [[optimum(sample)]]


def test_thresholds_are_the_largest_that_the_program_refutes() -> None:
    """On a device that has to do all, they reach the sum."""
    nothing = np.zeros((3, 1), dtype=np.int64)
    ticks = np.array([[3], [4], [5]])
    program = AssignmentProgram(ticks, ticks > 0)
    threshold, weights = best_threshold(
        program, IntervalTicks(nothing, ticks, nothing), 5, Budget(60)
    )
    assert threshold == 11
    assert weights[0] > 0


def test_a_load_far_above_the_path_is_found() -> None:
    """Thousands of operators of one tick, of which paths say that they take one."""
    ticks = np.full((4000, 2), 1, dtype=np.int64)
    nothing = np.zeros_like(ticks)
    program = AssignmentProgram(ticks, ticks > 0)
    threshold, weights = best_threshold(
        program, IntervalTicks(nothing, ticks, nothing), 1, Budget(60)
    )
    assert threshold == 1999
    assert min(weights) > 0


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


def test_what_takes_the_checker_too_long_is_left_out() -> None:
    """No interval is better than a certificate that is refused."""
    network = Network(checker.check_instance(instance([[1, 1]] * 6, TWO_MODULES).to_json()))
    assert bound_interval(network, 0, 3, Budget(60), most_steps=50) is None


def test_without_time_there_is_the_path() -> None:
    """Linear programs are for what is left of the budget."""
    sample = instance([[2, 2], [3, 3], [3, 3]], [(0, 1), (0, 2)], times=[[0, 9, 9, 0]])
    network = Network(checker.check_instance(sample.to_json()))
    interval = bound_interval(network, OUTSIDE, OUTSIDE, Budget(0))
    assert interval is not None
    assert (interval.rows, interval.jump.least) == ([], [[5]])


class WeightElsewhere(AssignmentProgram):
    """A program whose solution has all the weight on the second device."""

    def weights(self, allowed: np.ndarray, lost: np.ndarray, seconds: float) -> Weights:
        """Return it."""
        return Weights([0, 7], [0, 0])


def test_weight_of_a_device_that_nothing_can_be_on() -> None:
    """A degenerate solution proves nothing, and does no harm."""
    ticks = np.array([[0, 9], [0, 9]])
    program = WeightElsewhere(ticks, ticks >= 0)
    nothing = np.zeros((2, 2), dtype=np.int64)
    assert best_threshold(program, IntervalTicks(nothing, ticks, nothing), 3, Budget(60)) == (2, [])


@given(st.integers(1, 9), st.data())
def test_dominators_are_those_of_networkx(nodes: int, data: st.DataObject) -> None:
    """With one begin before all operators without producers, and one end after the others."""
    producers: list[list[int]] = [
        sorted(data.draw(st.sets(st.integers(0, v - 1)))) if v else [] for v in range(nodes)
    ]
    sinks = [v for v in range(nodes) if all(v not in found for found in producers)]
    graph = nx.DiGraph()
    for v, found in enumerate([*producers, sinks]):
        graph.add_edges_from((u, v) for u in found or [OUTSIDE])
    expected = nx.immediate_dominators(graph, OUTSIDE)
    found = immediate_dominators(range(nodes), [*producers, sinks])
    assert found == [expected[v] for v in range(nodes + 1)]
