import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from brute_force import all_dags, instance, instances, stage_cost
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boundmark.bounds.pipeline.prefixes.prefix_weights import (
    Closure,
    OutOfTimeError,
    Weights,
    scaled,
)
from boundmark.bounds.pipeline.prefixes.windows import SHARE_UNITS, Windows, branch, narrowed
from boundmark.problems import method
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

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
def test_weights_are_those_of_the_closure(rows: int) -> None:
    """However many rows are taken at a time, sums are those of the matrix."""
    weights = np.array([1, 10, 100, 1000])
    for edges in all_dags(4):
        dag = instance([1] * 4, edges, 2).graph.dag
        closure = Closure(Closure.of(dag).before, rows)
        matrix = closure.before.astype(np.int64)
        assert closure.weights_before(weights).tolist() == (matrix @ weights).tolist()
        assert closure.weights_after(weights).tolist() == (weights @ matrix).tolist()


def a_second_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock of all budgets stand still, but for a second whenever it is looked at."""
    looks = itertools.count()
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: float(next(looks))))


@pytest.mark.parametrize("preparation", ["closure", "weights_before", "weights_after"])
def test_preparations_look_at_the_clock(monkeypatch: pytest.MonkeyPatch, preparation: str) -> None:
    """Between any two slices of rows, the time may end; no look is after the last one."""
    dag = instance([1] * 7, [(v, v + 1) for v in range(6)], 2).graph.dag
    slices = 4  # of two rows
    for seconds in range(slices + 2):
        before = Closure.of(dag).before
        a_second_a_look(monkeypatch)
        budget = Budget(seconds - 0.5, started=0.0)

        def prepare(before: NDArray[np.bool_] = before, budget: Budget = budget) -> None:
            if preparation == "closure":
                Closure.of(dag, budget, 2)
            else:
                getattr(Closure(before, 2, budget), preparation)(np.ones(7, np.int64))

        if seconds < slices:
            with pytest.raises(OutOfTimeError):
                prepare()
        else:
            prepare()


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


@given(sample=instances(), threshold=st.integers(0, 40))
def test_a_stage_weighs_at_most_its_cost(sample: PipelineInstance, threshold: int) -> None:
    """Whatever was moved into a set of nodes came with tensors that enter it."""
    weights = Weights.moved(sample.graph, threshold)
    assert (weights.nodes >= 0).all()
    for size in range(sample.nodes + 1):
        for members in itertools.combinations(range(sample.nodes), size):
            cost = stage_cost(sample, set(members))
            weighs = sum(int(weights.nodes[v]) for v in members)
            assert weighs * max(threshold, 1) <= cost * SHARE_UNITS


@given(sample=instances(), threshold=st.integers(1, 40))
def test_moving_loses_nothing(sample: PipelineInstance, threshold: int) -> None:
    """All nodes together weigh what they did, and moves say what became of each."""
    graph = sample.graph
    weights, work = Weights.moved(graph, threshold), scaled(graph.work, threshold)
    assert weights.nodes.sum() == work.sum()
    moves = weights.moves_to_json()
    moved = work.tolist()
    for edge, amount in zip(moves[::2], moves[1::2], strict=True):
        moved[int(graph.dag.sources[edge])] -= amount
        moved[int(graph.dag.targets[edge])] += amount
    assert moved == weights.nodes.tolist()
