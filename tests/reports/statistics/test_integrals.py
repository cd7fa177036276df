"""Integrals over time, by hand and against sums over time."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boundmark.reports.statistics import (
    mean_dual_gaps,
    mean_gaps_over_time,
    mean_primal_gaps,
)


@pytest.mark.parametrize(
    ("solutions", "bounds", "expected"),
    [
        ([], [], 1.0),
        ([(2.0, 10.0)], [], 1.0),
        ([(0.0, 10.0)], [(0.0, 10.0)], 0.0),
        # 2 s of gap 1, 3 s of (10 - 5) / 10, 5 s of (8 - 5) / 8.
        ([(5.0, 8.0), (2.0, 10.0)], [(0.0, 5.0)], (2 + 1.5 + 5 * 3 / 8) / 10),
        # What comes at the limit or later does not count, nor does anything worse.
        ([(0.0, 10.0), (1.0, 12.0), (10.0, 5.0)], [(0.0, 5.0)], 0.5),
        # A bound below zero is a gap of 1, one above the solution of 0.
        ([(0.0, 10.0)], [(0.0, -3.0), (5.0, 11.0)], 0.5),
    ],
)
def test_primal_dual_integral_by_hand(
    solutions: list[tuple[float, float]], bounds: list[tuple[float, float]], expected: float
) -> None:
    """The area under the gap's step function, relative to the limit of 10 s."""
    assert _of_tasks([(solutions, bounds)]) == pytest.approx([expected])


def _of_tasks(tasks: list[tuple[list[tuple[float, float]], list[tuple[float, float]]]]) -> Any:
    """Return the integrals of tasks with these solutions and bounds, within 10 s."""
    events = [
        (place, seconds, value, are_solutions)
        for place, both in enumerate(tasks)
        for pairs, are_solutions in zip(both, (True, False), strict=True)
        for seconds, value in pairs
    ]
    types = (np.intp, np.float64, np.float64, np.bool_)
    columns = zip(*events, strict=True) if events else [()] * 4
    arrays = [np.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return mean_gaps_over_time(*arrays, np.full(len(tasks), 10.0))


PAIRS = st.lists(st.tuples(st.floats(0, 12), st.floats(-5, 100)), max_size=5)


@given(st.lists(st.tuples(PAIRS, PAIRS), max_size=5))
@example([([(0.0, 0.0)], [(0.0, -1.0)])])
def test_primal_dual_integrals_of_many_tasks(
    tasks: list[tuple[list[tuple[float, float]], list[tuple[float, float]]]],
) -> None:
    """Each task's is what a loop over its own events adds up to, to the last bit."""
    assert _of_tasks(tasks).tolist() == [_by_loop(*both) for both in tasks]


def _by_loop(solutions: list[tuple[float, float]], bounds: list[tuple[float, float]]) -> float:
    upper, lower = np.inf, -np.inf
    area, now, gap = 0.0, 0.0, 1.0
    events = [(t, value, np.inf) for t, value in solutions]
    events += [(t, np.inf, value) for t, value in bounds]
    for seconds, cost, bound in sorted(events):
        if seconds >= 10.0:
            break
        area += gap * (seconds - now)
        now = seconds
        upper = min(upper, cost)
        lower = max(lower, -np.inf if bound == np.inf else bound)
        if np.isinf(upper) or np.isinf(lower):
            gap = 1.0
        else:
            gap = 1.0 if upper <= 0 else min(1.0, (upper - lower) / upper)
            gap = 0.0 if upper <= lower else gap
    return float((area + gap * (10.0 - now)) / 10.0)


EVENTS = st.lists(st.tuples(st.floats(0, 12), st.floats(1, 100)), max_size=8)


def sampled(events: list[tuple[float, float]], limit: float, gap_of: object) -> float:
    """Return the mean gap over time at the middles of 24,000 slices."""
    times = (np.arange(24_000) + 0.5) * limit / 24_000
    gaps = np.ones_like(times)
    for seconds, value in events:
        gaps = np.where(times >= seconds, np.minimum(gaps, gap_of(value)), gaps)  # type: ignore[operator]
    return float(gaps.mean())


@given(EVENTS)
def test_integrals_are_those_of_a_sum_over_time(events: list[tuple[float, float]]) -> None:
    """With the smallest gap so far at every moment, 1 before the first event."""
    best = 50.0
    primal = sampled(events, 10.0, lambda value: max(0.0, (value - best) / value))
    dual = sampled(events, 10.0, lambda value: min(1.0, max(0.0, (best - value) / best)))
    # The second of three tasks, of which the others report nothing.
    seconds, values = (np.array([pair[at] for pair in events], np.float64) for at in (0, 1))
    tasks, limits = np.ones(len(events), np.intp), np.full(3, 10.0)
    for found, expected in ((mean_primal_gaps, primal), (mean_dual_gaps, dual)):
        means = found(tasks, seconds, values, np.full(3, best), limits)
        assert means.tolist() == pytest.approx([1.0, expected, 1.0], abs=2e-3)
