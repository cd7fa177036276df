"""Repetends and their periods."""

import itertools

import pytest
from brute_force import all_dags
from brute_force_microbatch import layout, v_shape

from boundmark.datasets.microbatch.shapes import load
from boundmark.heuristics.microbatch.repetend import (
    assignments,
    held_before,
    longest_path,
    most_in_flight,
    period_of,
    shortest_repetend,
)
from boundmark.heuristics.microbatch.start_times import Find
from boundmark.problems.dag import Dag
from boundmark.problems.microbatch import MicrobatchInstance


@pytest.mark.parametrize("micro_batches", [1, 2, 3])
def test_assignments_are_those_of_the_properties(micro_batches: int) -> None:
    """All non-increasing ones with 0 and the largest number, each once."""
    for nodes in range(1, 5):
        for edges in all_dags(nodes):
            found = list(assignments(Dag.from_edges(nodes, edges), micro_batches))
            expected = {
                members
                for members in itertools.product(range(micro_batches), repeat=nodes)
                if min(members) == 0
                and max(members) == micro_batches - 1
                and all(members[i] >= members[j] for i, j in edges)
            }
            assert len(found) == len(expected)
            assert set(found) == expected


def test_assignments_of_many_blocks() -> None:
    """The number of blocks is not limited by the depth of recursion."""
    chain = Dag.from_edges(3000, [(i, i + 1) for i in range(2999)])
    assert next(assignments(chain, 2)) == (1,) * 2999 + (0,)


def test_longest_path_counts_blocks() -> None:
    """Of two paths, the longer one."""
    assert longest_path(Dag.from_edges(5, [(0, 1), (1, 4), (0, 2), (2, 3), (3, 4)])) == 4


@pytest.mark.parametrize(
    ("member", "memory", "expected"),
    [("v-4-train", 6, 6), ("k-4-train", 6, 6), ("v-4-train-a4", 6, 1), ("m-4-infer", 6, 5)],
)
def test_micro_batches_in_flight(member: str, memory: int, expected: int) -> None:
    """As many as can hold an allocation; without allocations, the longest path."""
    sample = MicrobatchInstance.of(load(member), memory=memory)
    assert most_in_flight(sample.layout, sample.capacity) == expected


def test_memory_at_the_entry() -> None:
    """Device 0 has run 2 forward and 1 backward block, device 1 as many of both."""
    assert held_before(v_shape(), (2, 1, 1, 1)) == (1, 0)


def test_period_of_figure_6() -> None:
    """The next repetition starts when its dependencies are done, not when all of the first is."""
    sample = v_shape()
    # Device 0: F0 at 0, B0 at 3. Device 1: F1 at 1, B1 at 2, so it has time from 4 on.
    starts = (0, 1, 2, 4)
    assert period_of(sample, (0, 0, 0, 0), starts) == 6
    # B0 is of the micro-batch before: it need not wait, and devices do not idle.
    assert period_of(sample, (1, 0, 0, 0), (0, 0, 1, 3)) == 5
    assert period_of(sample, (1, 1, 1, 0), (0, 1, 2, 1)) == 3


def test_period_with_dependencies_over_several_repetitions() -> None:
    """What is needed two repetitions later may take two periods."""
    sample = layout([("A", 3, 0, (0,)), ("B", 1, 0, (1,))], [(0, 1)], 2)
    assert period_of(sample, (2, 0), (5, 0)) == 4
    assert period_of(sample, (1, 0), (5, 0)) == 8


def test_too_long_is_none(find: Find) -> None:
    """One micro-batch at a time takes 6 ticks."""
    sample = v_shape()
    assert shortest_repetend(sample, (2, 2), (0, 0, 0, 0), 5, find) is None
    found = shortest_repetend(sample, (2, 2), (0, 0, 0, 0), 9, find)
    assert found is not None
    assert found.period == 6
    assert shortest_repetend(sample, (0, 0), (1, 1, 1, 0), 9, find) is None
