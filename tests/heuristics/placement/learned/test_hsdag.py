"""Groups of the graph parsing network, by hand and by its algorithm as printed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.heuristics.placement.learned.hsdag import parse
from boundmark.problems.arrays import IntArray


def printed(nodes: int, edges: list[tuple[int, int]], scores: list[float]) -> list[int]:
    """Return groups as Algorithm 2 finds them: from the best edge left, as long as a group grows.

    Scores differ, so that nothing depends on ties.
    """
    table = np.zeros((nodes, nodes))
    for node in range(nodes):
        around = [(score, edge) for edge, score in zip(edges, scores, strict=True) if node in edge]
        if around:
            score, (u, v) = max(around)
            table[u, v] = table[v, u] = score
    group, number = [-1] * nodes, 0
    while table.sum():
        members = {int(end) for end in np.unravel_index(table.argmax(), table.shape)}
        while True:
            more = members | {int(v) for u in members for v in np.flatnonzero(table[u])}
            if more == members:
                break
            members = more
        for node in members:
            group[node] = number
            table[node, :] = table[:, node] = 0
        number += 1
    for node in range(nodes):
        if group[node] < 0:
            group[node] = number
            number += 1
    return group


@st.composite
def scored(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[float]]:
    """Draw a graph with edges from smaller to larger numbers and different scores."""
    nodes = draw(st.integers(1, 8))
    pairs = [(u, v) for u in range(nodes) for v in range(u + 1, nodes)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    order = draw(st.permutations(range(len(edges))))
    return nodes, edges, [(1 + rank) / (2 + len(edges)) for rank in order]


def as_edges(edges: list[tuple[int, int]]) -> IntArray:
    """Return rows (source, target)."""
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


@given(scored())
def test_groups_are_those_of_the_algorithm(
    sample: tuple[int, list[tuple[int, int]], list[float]],
) -> None:
    """Numbers included; every kept edge is the best one of its node."""
    nodes, edges, scores = sample
    found = parse(nodes, as_edges(edges), np.array(scores, dtype=np.float32))
    assert found.group_of.tolist() == printed(nodes, edges, scores)
    for node, kept in enumerate(found.kept.tolist()):
        around = [score for edge, score in zip(edges, scores, strict=True) if node in edge]
        if around:
            assert node in edges[kept]
            assert scores[kept] == max(around)
        else:
            assert kept == -1


@pytest.mark.parametrize(
    ("nodes", "edges", "scores", "groups"),
    [
        (1, [], [], [0]),
        # The middle of a chain belongs to the end with the better edge; the other end keeps its
        # only edge, and so all are one.
        (3, [(0, 1), (1, 2)], [0.9, 0.1], [0, 0, 0]),
        # The weak edge in the middle is nobody's best.
        (4, [(0, 1), (1, 2), (2, 3)], [0.4, 0.1, 0.6], [1, 1, 0, 0]),
    ],
)
def test_groups_by_hand(
    nodes: int, edges: list[tuple[int, int]], scores: list[float], groups: list[int]
) -> None:
    """Nobody says how many there are."""
    found = parse(nodes, as_edges(edges), np.array(scores, dtype=np.float32))
    assert found.group_of.tolist() == groups
    assert found.groups == max(groups) + 1
