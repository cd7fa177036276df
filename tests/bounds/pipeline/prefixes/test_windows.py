import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from brute_force import all_dags, cost, instance, partitions
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline import windows
from boundmark.bounds.pipeline.flows.fractional_load import FEW_IO_WEIGHTS, share_table
from boundmark.bounds.pipeline.prefixes.windows import (
    Closure,
    OutOfTimeError,
    Windows,
    shares,
)
from boundmark.problems import method
from boundmark.problems.method import Budget


@pytest.mark.parametrize("cache", [100, 6])
def test_windows_hold_all_partitions_below_the_threshold(cache: int) -> None:
    """No partition within the threshold uses a stage outside its nodes' windows."""
    for edges in all_dags(5)[::12]:
        sample = instance(
            [3, 1, 4, 1, 5],
            edges,
            k=3,
            transfer=[2, 7, 1, 3, 2],
            param_load=[0, 6, 2, 0, 5],
            cache=cache,
        )
        table = share_table(sample.graph, FEW_IO_WEIGHTS)
        for threshold in range(5, 20, 2):
            amounts = shares(table, threshold)
            for assignment in partitions(sample):
                if cost(sample, assignment) <= threshold:
                    assert amounts is not None
                    found = Closure.of(sample.graph.dag).share_windows(amounts, 3)
                    for v, stage in enumerate(assignment):
                        assert found.first[v] <= stage <= found.last[v]


def test_a_chain_has_narrow_windows() -> None:
    """Equal work on a chain leaves one stage to each node."""
    sample = instance([4] * 6, [(v, v + 1) for v in range(5)], 6, transfer=[0] * 6)
    amounts = shares(share_table(sample.graph), 4)
    assert amounts is not None
    found = Closure.of(sample.graph.dag).share_windows(amounts, 6)
    assert found.first.tolist() == found.last.tolist() == [0, 1, 2, 3, 4, 5]


def test_too_little_room_is_refuted() -> None:
    """A node that exceeds the threshold alone has no stage."""
    sample = instance([4, 1], [(0, 1)], 2)
    assert shares(share_table(sample.graph), 3) is None


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
def test_branching_is_that_of_the_checker(
    data: st.DataObject, edges: list[tuple[int, int]], stages: int
) -> None:
    """The checker follows the edges one by one; the closure has the same windows at once."""
    nodes = 1 + max(itertools.chain([2], *edges))
    sample = instance([1] * nodes, edges, stages)
    order = windows.in_order(checker.check_instance(sample.to_json()))
    closure = Closure.of(sample.graph.dag)
    ends = st.lists(st.integers(0, stages - 1), min_size=nodes, max_size=nodes)
    drawn = zip(data.draw(ends), data.draw(ends), strict=True)
    first, last = map(list, zip(*(sorted(pair) for pair in drawn), strict=True))
    first, last = windows.narrowed(order, first, last)
    for _ in range(3):
        node = data.draw(st.integers(0, nodes - 1))
        stage = data.draw(st.integers(0, stages - 2))
        earlier, later = list(last), list(first)
        earlier[node], later[node] = min(last[node], stage), max(first[node], stage + 1)
        expected = windows.narrowed(order, first, earlier), windows.narrowed(order, later, last)
        sides = closure.branch(Windows(np.array(first), np.array(last)), node, stage)
        for side, found in zip(sides, expected, strict=True):
            assert (side.first.tolist(), side.last.tolist()) == found
        first, last = data.draw(st.sampled_from(expected))
        if any(low > high for low, high in zip(first, last, strict=True)):
            break
