"""Co-location sets by hand."""

import pytest

from boundmark.heuristics.placement.learned.graphs import colocated
from boundmark.problems.dag import Dag


@pytest.mark.parametrize(
    ("nodes", "edges", "sets", "between"),
    [
        (1, [], [0], []),
        (3, [(0, 1), (1, 2)], [0, 0, 0], []),
        # A fork and a join: the ends are in no set with the branches.
        (4, [(0, 1), (0, 2), (1, 3), (2, 3)], [0, 1, 2, 3], [(0, 1), (0, 2), (1, 3), (2, 3)]),
        # A branch of two is one set.
        (
            5,
            [(0, 1), (1, 2), (0, 3), (2, 4), (3, 4)],
            [0, 1, 1, 2, 3],
            [(0, 1), (0, 2), (1, 3), (2, 3)],
        ),
        # Numbers are no topological order.
        (3, [(2, 0), (0, 1)], [0, 0, 0], []),
        (2, [], [0, 1], []),
    ],
)
def test_sets_by_hand(
    nodes: int, edges: list[tuple[int, int]], sets: list[int], between: list[tuple[int, int]]
) -> None:
    """An only consumer joins its only producer."""
    found = colocated(Dag.from_edges(nodes, edges))
    assert found.set_of.tolist() == sets
    assert [tuple(pair) for pair in found.dag.edge_pairs().tolist()] == between
    assert found.sizes.sum() == nodes


def test_last_operator_of_a_set() -> None:
    """Its output is what leaves the set."""
    found = colocated(Dag.from_edges(4, [(2, 0), (0, 1), (3, 3 - 2)]))
    assert [found.set_of[v] for v in (2, 0, 1, 3)] == [0, 0, 2, 1]
    assert found.last.tolist() == [0, 3, 1]
