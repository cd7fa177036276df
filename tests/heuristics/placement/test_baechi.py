import numpy as np
import pytest
from brute_force_placement import instance
from hypothesis import given, settings
from placement_strategies import instances
from selection import examples

from boundmark.heuristics.placement.baechi import (
    edge_times,
    favourite_children,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.placement import PlacementInstance


def test_the_child_on_the_long_path_is_the_favourite() -> None:
    """Operator 1 has a long way to go, operator 2 has not; 3 is the favourite of 1, not of 2."""
    sample = instance([[2, 2], [9, 9], [1, 1], [3, 3]], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert favourite_children(sample.graph, Budget(60)).tolist() == [1, 3, -1, -1]


def test_edge_times() -> None:
    """Means over pairs of different devices; of two tensors to one consumer, the longer one."""
    sample = instance([[1, 1]] * 3, [(0, 1), (0, 2)], times=[[0, 4, 8, 0], [0, 1, 1, 0]])
    assert edge_times(sample.graph).tolist() == [6, 6]


@settings(deadline=None, max_examples=examples(50))
@given(instances())
def test_nobody_has_two(sample: PlacementInstance) -> None:
    """A favourite child is a child, and that of one operator only."""
    found = favourite_children(sample.graph, Budget(60))
    children = found[found >= 0].tolist()
    assert len(set(children)) == len(children)
    for v, child in enumerate(found.tolist()):
        assert child < 0 or child in sample.graph.dag.consumers_of(v)


def test_without_time() -> None:
    """The linear program is not solved, and nothing is made up."""
    chain = [(v, v + 1) for v in range(400)]
    sample = instance(np.random.default_rng(1).integers(1, 99, (401, 2)).tolist(), chain)
    with pytest.raises(UnsupportedError, match="was not solved in the time that there was"):
        favourite_children(sample.graph, Budget(0.0))
