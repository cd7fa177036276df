"""Compiled evaluation of plans is what plain Python says."""

import numpy as np
import pytest
from brute_force_slicing import HALO, instance, needs
from hypothesis import given
from hypothesis import strategies as st
from random_slicing import instances, plans
from tiny_slicing import LARGER

from boundmark.heuristics.slicing.plan_kernels import (
    all_ticks,
    anneal,
    evaluate_all,
    excess_between,
    excess_memory,
    fit_pattern,
    slicing_arrays,
)
from boundmark.heuristics.slicing.simple_plans import patterns
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import memory_taken, plan_times


def excess(sample: SlicingInstance, plan: SlicingPlan) -> int:
    """Return the bytes beyond the memory, over all operators and devices."""
    rows = memory_taken(sample.graph, plan, plan_times(sample.graph, plan))
    return int(np.maximum(0, np.array(rows) - sample.graph.capacity).sum())


def ticks_of(sample: SlicingInstance, vectors: IntArray) -> list[int]:
    """Return the compiled ticks of each operator."""
    ticks = np.empty(sample.nodes, dtype=np.int64)
    all_ticks(slicing_arrays(sample), vectors, ticks)
    return ticks.tolist()


@given(st.data())
def test_any_plan(data: st.DataObject) -> None:
    """Ticks of each operator and excess of memory, of one plan and of several."""
    sample = data.draw(instances())
    plan = data.draw(plans(sample))
    arrays, vectors = slicing_arrays(sample), plan.vectors.copy()
    times = [one.total for one in plan_times(sample.graph, plan)]
    assert ticks_of(sample, vectors) == times
    assert excess_memory(arrays, vectors) == excess(sample, plan)
    latency, beyond = np.empty((2, 2), dtype=np.int64)
    evaluate_all(arrays, np.stack([vectors, vectors]), latency, beyond)
    assert latency.tolist() == [sum(times)] * 2
    assert beyond.tolist() == [excess(sample, plan)] * 2


@given(st.data())
def test_memory_around_a_change(data: st.DataObject) -> None:
    """A changed vector matters from its operator to the last that reads the output."""
    sample = data.draw(instances())
    old, new = data.draw(plans(sample)), data.draw(plans(sample))
    first = data.draw(st.integers(0, sample.nodes - 1))
    # So little memory that there would be no such instance.
    capacity = frozen([data.draw(st.integers(0, 30)) for _ in range(sample.graph.devices)])
    vectors, arrays = old.vectors.copy(), slicing_arrays(sample)._replace(capacity=capacity)
    held = np.zeros((sample.nodes + 1, sample.graph.devices), np.int64)
    over = np.empty(sample.nodes, np.int64)
    before = excess_between(arrays, vectors, 0, sample.nodes - 1, 0, held, over)
    assert before == over.sum() == excess_memory(arrays, vectors)
    vectors[first] = new.vectors[first]
    last = int(sample.graph.last_use[first])
    gone = int((sample.graph.last_use < first).sum())
    known = over[first : last + 1].sum()
    after = before - known + excess_between(arrays, vectors, first, last, gone, held, over)
    assert after == excess_memory(arrays, vectors) == over.sum()


@given(st.integers(1, 50), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_patterns_become_vectors(length: int, inner: list[float]) -> None:
    """Fractions become the nearest indices, from 0 to the length."""
    pattern = np.array([0.0, *sorted(inner), 1.0])
    vector = np.empty(len(pattern), dtype=np.int64)
    fit_pattern(length, pattern, vector)
    assert vector[0] == 0
    assert vector[-1] == length
    assert np.all(np.abs(vector - pattern * length) <= 0.5)


@pytest.mark.parametrize("penalty", [0, 5])
def test_annealing_keeps_the_best(penalty: int) -> None:
    """What comes out is a plan that costs no more than what went in, and follows from the seed."""
    arrays = slicing_arrays(LARGER)
    start = np.empty((LARGER.nodes, 4), dtype=np.int64)
    for operator, length in enumerate(LARGER.graph.length.tolist()):
        fit_pattern(length, np.array([0, 1 / 3, 2 / 3, 1]), start[operator])
    found = []
    for _ in range(2):
        vectors = start.copy()
        anneal(arrays, patterns(LARGER), vectors, 2000, 5.0, 0.01, penalty, 3)
        found.append(vectors)
    assert found[0].tolist() == found[1].tolist()

    def cost(vectors: IntArray) -> int:
        return sum(ticks_of(LARGER, vectors)) + penalty * excess_memory(arrays, vectors)

    assert cost(found[0]) < cost(start)
    SlicingPlan(found[0])
    plan_times(LARGER.graph, SlicingPlan(found[0]))


def test_annealing_finds_the_optimum_of_a_chain() -> None:
    """Aligned halves, where every other division is worse."""
    sample = instance([8, 8, 8], [[40, 40]] * 3, [needs(0, 1, 8, HALO), needs(1, 2, 8, HALO)])
    vectors = np.array([[0, 8, 8]] * 3)
    anneal(slicing_arrays(sample), patterns(sample), vectors, 3000, 10.0, 0.01, 0, 1)
    assert sample.objective(SlicingPlan(vectors)) == 20 + 21 + 21
