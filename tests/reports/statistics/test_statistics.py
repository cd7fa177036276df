"""Every statistic on numbers that can be checked by hand."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boundmark.reports.statistics.integrals import mean_gaps_over_time
from boundmark.reports.statistics.means import (
    geometric_mean,
    geometric_mean_interval,
    geometric_mean_intervals,
)
from boundmark.reports.statistics.methods import performance_profile, wins_and_ties

ratios = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=20)


def test_geometric_mean_by_hand() -> None:
    """The mean of 2 and 8 is 4, and shifted by 1 that of 1 and 7 is sqrt(16) - 1."""
    assert geometric_mean([2, 8]) == pytest.approx(4)
    assert geometric_mean([1, 7], shift=1.0) == pytest.approx(3)
    assert geometric_mean([0, 0], shift=1.0) == 0
    assert math.isnan(geometric_mean([]))


@given(ratios)
def test_geometric_mean_does_not_depend_on_the_reference(values: list[float]) -> None:
    """The mean of the reciprocals is the reciprocal of the mean."""
    assert geometric_mean([1 / x for x in values]) == pytest.approx(1 / geometric_mean(values))


def test_bootstrap_of_equal_ratios_is_a_point() -> None:
    """Without variation there is nothing uncertain; a single instance says nothing."""
    assert geometric_mean_interval([1.2] * 5) == pytest.approx((1.2, 1.2))
    assert all(math.isnan(end) for end in geometric_mean_interval([1.2]))


def test_bootstrap_is_the_same_every_time_and_covers_the_mean() -> None:
    """Two ratios are both drawn low, mixed or high with 1/4, 1/2, 1/4: the ends are the ratios."""
    assert geometric_mean_interval([1.0, 4.0]) == pytest.approx((1.0, 4.0))
    values = np.linspace(1.0, 2.0, 30)
    low, high = geometric_mean_interval(values)
    assert low < geometric_mean(values) < high
    assert geometric_mean_interval(values) == (low, high)


def test_performance_profile_by_hand() -> None:
    """Method a is best on one of two instances and twice the best on the other; b failed once."""
    costs = pd.DataFrame({"a": [10.0, 20.0, np.nan], "b": [np.nan, 10.0, np.nan]})
    profile = performance_profile(costs)
    assert profile.to_dict("list") == {
        "method": ["a", "a", "b"],
        "factor": [1.0, 2.0, 1.0],
        "fraction": [0.5, 1.0, 0.5],
    }


def test_performance_profile_of_nothing_is_empty() -> None:
    """If no method solved anything there is no best to compare with."""
    assert len(performance_profile(pd.DataFrame({"a": [np.nan], "b": [np.nan]}))) == 0


def test_wins_and_ties_by_hand() -> None:
    """A shared best is a tie for all who share it, and a failure is nothing."""
    costs = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [2.0, 2.0, 3.0], "c": [3.0, 4.0, np.nan]})
    counts = wins_and_ties(costs)
    assert counts["wins"].to_dict() == {"a": 1, "b": 1, "c": 0}
    assert counts["ties"].to_dict() == {"a": 1, "b": 1, "c": 0}


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


def test_intervals_of_several_methods_at_once() -> None:
    """Those of each alone, and none where there is one instance."""
    ratios = pd.DataFrame({"a": [1.0, 1.5, 4.0, 2.0], "b": [1.0, 3.0, 1.1, 1.2]})
    found = geometric_mean_intervals(ratios)
    for name in ratios:
        assert found[name] == pytest.approx(geometric_mean_interval(ratios[name]))
    assert found["a"][0] < geometric_mean(ratios["a"]) < found["a"][1]
    assert all(np.isnan(geometric_mean_intervals(ratios.iloc[:1])["b"]))
