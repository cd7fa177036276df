"""Tests of the program of weights that is solved near its central path."""

import numpy as np
import pytest
from brute_force_sets import tiny_graphs
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

from boundmark.bounds.pipeline.weights.known_sets import POSITIONS, KnownSets
from boundmark.bounds.pipeline.weights.set_program import SetProgram, SetProgramSettings
from boundmark.bounds.pipeline.weights.tensors import ANY, FIRST, Tensors
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import PipelineInstance

GAP = 0.01


def all_sets(sample: PipelineInstance) -> KnownSets:
    """Return all sets of nodes, convex or not: the program takes what it is given."""
    known = KnownSets(Tensors.of(sample.graph), 1)
    for members in range(1, 1 << sample.nodes):
        known.add(members)
    return known


def optimum(known: KnownSets, limit: int, has_ends: bool) -> float:
    """Return the most that weights come to, by a solver for linear programs."""
    n = known.tensors.nodes
    numbers = np.arange(len(known.costs))
    rows, most = [np.zeros((0, n + 2))], []
    for position in POSITIONS if has_ends else (ANY,):
        counted = known.weighed(np.ones(n), limit, position) > 0
        ends = np.zeros((counted.sum(), 2))
        if position != ANY:
            ends[:, position - FIRST] = -1
        rows.append(np.hstack([known.masks(numbers[counted]), ends]))
        most.append(np.full(counted.sum(), float(position == ANY)))
    gain = np.concatenate([np.ones(n), -np.ones(2)])
    bounds = [(0, 1)] * n + [(0, None)] * 2
    return float(-linprog(-gain, np.vstack(rows), np.concatenate(most), bounds=bounds).fun)


@pytest.mark.parametrize("has_ends", [False, True])
@given(sample=tiny_graphs(params=False), limit=st.integers(1, 60), data=st.data())
def test_bounds_meet_at_the_optimum(
    sample: PipelineInstance, limit: int, has_ends: bool, data: st.DataObject
) -> None:
    """The upper bound is never below it, and comes close; weights keep to all rows.

    Whatever weights it begins with, even if none has any.
    """
    known, n = all_sets(sample), sample.nodes
    best = optimum(known, limit, has_ends)
    start = np.array(data.draw(st.lists(st.floats(0, 2), min_size=n, max_size=n)))
    positions = POSITIONS if has_ends else (ANY,)
    program = SetProgram(known, limit, positions, start, SetProgramSettings())
    for position in positions:
        program.add_heaviest(np.ones(n), position, 0.0, 10**6)
    weights, upper = program.solve(1.0, Budget(20.0))
    assert upper >= best - 1e-9
    for _ in range(20):
        weights, upper = program.solve(GAP, Budget(20.0))
    assert best - 1e-9 <= upper <= best + GAP
    assert weights.min() >= 0
    assert known.heaviest(weights, limit) <= 1
    reached = weights.sum() - sum(
        known.heaviest(weights, limit, position) for position in positions[1:]
    )
    assert best - GAP <= reached <= best + 1e-9


@given(sample=tiny_graphs(params=False), limit=st.integers(1, 60))
def test_rows_are_the_heaviest_sets(sample: PipelineInstance, limit: int) -> None:
    """Each once for a stage, only those within the limit, and no more than asked for."""
    known, n = all_sets(sample), sample.nodes
    program = SetProgram(known, limit, POSITIONS, np.ones(n), SetProgramSettings())
    for position in POSITIONS:
        weighed = known.weighed(np.ones(n), limit, position)
        number = int((weighed > 0).sum())
        assert program.add_heaviest(np.ones(n), position, float(n), 10) == 0
        assert program.add_heaviest(np.ones(n), position, 0.0, 1) == min(number, 1)
        assert program.heaviest(np.ones(n), position) == weighed.max()
        assert program.add_heaviest(np.ones(n), position, 0.0, 10**6) == max(0, number - 1)
        assert program.add_heaviest(np.ones(n), position, 0.0, 10**6) == 0


@given(sample=tiny_graphs(params=False), limit=st.integers(5, 60))
def test_rows_far_from_tight_are_dropped(sample: PipelineInstance, limit: int) -> None:
    """They can be added again; the upper bound stays, and the optimum is found all the same."""
    known, n = all_sets(sample), sample.nodes
    count = int((known.weighed(np.ones(n), limit) > 0).sum())
    assume(count > n)
    settings = SetProgramSettings(most_rows=(count - 1) / n, growth=3.0)
    program = SetProgram(known, limit, (ANY,), np.ones(n), settings)
    program.add_heaviest(np.ones(n), ANY, 0.0, 10**6)
    _, before = program.solve(GAP, Budget(20.0))
    program.drop_idle()
    dropped = program.add_heaviest(np.ones(n), ANY, 0.0, 10**6)
    assert dropped == count - (count - 1) // 2
    program.drop_idle()
    assert program.add_heaviest(np.ones(n), ANY, 0.0, 10**6) == 0
    for _ in range(20):
        _, upper = program.solve(GAP, Budget(20.0))
    assert upper <= before
    assert upper == pytest.approx(optimum(known, limit, False), abs=GAP)


@given(sample=tiny_graphs(params=False), limit=st.integers(1, 60))
def test_without_time_weights_only_keep_to_rows(sample: PipelineInstance, limit: int) -> None:
    """Those to begin with are scaled, and nothing is said of better ones."""
    known, n = all_sets(sample), sample.nodes
    program = SetProgram(known, limit, (ANY,), np.ones(n), SetProgramSettings())
    program.add_heaviest(np.ones(n), ANY, 0.0, 10**6)
    weights, upper = program.solve(GAP, Budget(0.0))
    assert upper == np.inf
    assert np.ptp(weights) == 0
    assert 0 < known.heaviest(weights, limit) < 1 or not known.heaviest(np.ones(n), limit)
