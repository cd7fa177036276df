import itertools

import numpy as np
import pytest
from brute_force import all_dags, instance
from hypothesis import given
from hypothesis import strategies as st

from boundmark.bounds.pipeline.reach import closure as closures
from boundmark.bounds.pipeline.reach.closure import Closure
from boundmark.bounds.pipeline.shares.windows import Windows, branch, narrowed

DAGS = [edges for nodes in (3, 4, 5) for edges in all_dags(nodes)]


def test_the_closure_has_all_paths() -> None:
    """A node's row has itself and what paths of the graph lead from."""
    for edges in all_dags(4):
        dag = instance([1] * 4, edges, 2).graph.dag
        before = Closure.of(dag).before
        for v in range(4):
            known = {v}
            for _ in range(4):
                known |= {u for u, w in edges if w in known}
            assert set(np.flatnonzero(before[v]).tolist()) == known


@pytest.mark.parametrize("rows", [1, 3, 1024])
def test_weights_are_those_of_the_closure(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """However many rows are taken at a time, sums are those of the matrix."""
    monkeypatch.setattr(closures, "ROWS", rows)
    weights = np.array([1, 10, 100, 1000])
    for edges in all_dags(4):
        closure = Closure.of(instance([1] * 4, edges, 2).graph.dag)
        matrix = closure.before.astype(np.int64)
        assert closure.weights_before(weights).tolist() == (matrix @ weights).tolist()
        assert closure.weights_after(weights).tolist() == (weights @ matrix).tolist()


@given(data=st.data(), edges=st.sampled_from(DAGS), stages=st.integers(2, 4))
def test_branching_is_that_of_windows(
    data: st.DataObject, edges: list[tuple[int, int]], stages: int
) -> None:
    """The checker follows the edges one by one; the closure has the same windows at once."""
    nodes = 1 + max(itertools.chain([2], *edges))
    dag = instance([1] * nodes, edges, stages).graph.dag
    closure = Closure.of(dag)
    ends = st.lists(st.integers(0, stages - 1), min_size=nodes, max_size=nodes)
    first, last = (np.array(data.draw(ends)) for _ in range(2))
    windows = narrowed(dag, Windows(np.minimum(first, last), np.maximum(first, last)))
    for _ in range(3):
        node = data.draw(st.integers(0, nodes - 1))
        stage = data.draw(st.integers(0, stages - 2))
        sides = closure.branch(windows, node, stage)
        for side, expected in zip(sides, branch(dag, windows, node, stage), strict=True):
            assert side.first.tolist() == expected.first.tolist()
            assert side.last.tolist() == expected.last.tolist()
        windows = data.draw(st.sampled_from(sides))
        if not windows.are_possible:
            break
