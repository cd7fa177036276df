import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError


def test_edges_are_sorted_and_counted_once() -> None:
    """The canonical edge order is by (source, target), whatever order they came in."""
    dag = Dag.from_edges(3, [(1, 2), (0, 2), (0, 1), (0, 2)])
    assert dag.edge_pairs().tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, 1), (1, 2)]])
def test_edge_pairs_build_the_same_graph(edges: list[tuple[int, int]]) -> None:
    """They have the shape (m, 2), without edges too, and are what `from_edges` takes."""
    dag = Dag.from_edges(3, edges)
    assert dag.edge_pairs().shape == (len(edges), 2)
    assert dag.edge_pairs().dtype == np.int64
    again = Dag.from_edges(3, dag.edge_pairs())
    assert again.sources.tolist() == dag.sources.tolist()
    assert again.targets.tolist() == dag.targets.tolist()


@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_adjacency_agrees_with_the_edges(nodes: int, random: object) -> None:
    """Consumers and producers are two views of the same edges, also on shuffled node numbers."""
    label = list(range(nodes))
    random.shuffle(label)  # type: ignore[attr-defined]
    edges = [
        (label[u], label[v])
        for u in range(nodes)
        for v in range(u + 1, nodes)
        if random.random() < 0.3  # type: ignore[attr-defined]
    ]
    dag = Dag.from_edges(nodes, edges)
    assert {(u, int(v)) for u in range(nodes) for v in dag.consumers_of(u)} == set(edges)
    assert {(int(u), v) for v in range(nodes) for u in dag.producers_of(v)} == set(edges)
    position = {int(v): i for i, v in enumerate(dag.topological_order)}
    assert len(position) == nodes
    assert all(position[u] < position[v] for u, v in edges)


def test_file_order_is_kept_when_it_is_topological() -> None:
    """Model files list operations in execution order; it is the order that users expect."""
    dag = Dag.from_edges(4, [(0, 3), (1, 2)])
    assert dag.topological_order.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 0)], "the edges form a cycle"),
        ([(0, 0)], "the edges form a cycle, a -> a"),
        ([(0, 5)], r"edge \[0, 5\] names an unknown node; expected node numbers from 0 to 1"),
        ([(-1, 0)], r"edge \[-1, 0\] names an unknown node"),
        ([(0, 0.5)], r"entry \[0, 1\] of edges is 0.5; expected an integer of 64 bits"),
        ([(0, 2**64)], r"entry \[0, 1\] of edges is 18446744073709551616"),
        ([(0, 1, 0), (1, 0, 1)], r"edges has the shape \(2, 3\); expected pairs"),
        ([0, 1], r"edges has the shape \(2,\); expected pairs"),
    ],
)
def test_bad_edges_are_named(edges: list[tuple[int, int]], message: str) -> None:
    """The error says which edge or cycle is wrong."""
    with pytest.raises(InvalidInputError, match=message):
        Dag.from_edges(2, edges, ("a", "b"))


def test_arrays_are_read_only() -> None:
    """Instances are identified by their content, which therefore must not change."""
    dag = Dag.from_edges(2, [(0, 1)])
    with pytest.raises(ValueError, match="read-only"):
        dag.sources[0] = 1
