"""Means, integrals over time and statistics that compare methods, by hand and by other ways."""

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boundmark.reports.statistics import (
    Bootstrap,
    contributions,
    geometric_mean,
    geometric_mean_interval,
    geometric_mean_intervals,
    holm,
    mean_dual_gaps,
    mean_gaps_over_time,
    mean_primal_gaps,
    par10,
    performance_profile,
    signed_rank_p,
    wins_and_ties,
)

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
    """Without variation there is nothing uncertain; one or two instances say nothing."""
    assert geometric_mean_interval([1.2] * 5) == pytest.approx((1.2, 1.2))
    assert all(math.isnan(end) for end in geometric_mean_interval([1.2, 1.4]))


def test_bootstrap_is_the_same_every_time_and_covers_the_mean() -> None:
    """Two ratios are both drawn low, mixed or high with 1/4, 1/2, 1/4: the ends are the ratios."""
    assert geometric_mean_interval([1.0, 4.0], Bootstrap(least=2)) == pytest.approx((1.0, 4.0))
    values = np.linspace(1.0, 2.0, 30)
    low, high = geometric_mean_interval(values)
    assert low < geometric_mean(values) < high
    assert geometric_mean_interval(values) == (low, high)


def test_intervals_of_several_methods_at_once() -> None:
    """Those of each alone, and none where there is one instance."""
    ratios = pd.DataFrame({"a": [1.0, 1.5, 4.0, 2.0], "b": [1.0, 3.0, 1.1, 1.2]})
    found = geometric_mean_intervals(ratios)
    for name in ratios:
        assert found[name] == pytest.approx(geometric_mean_interval(ratios[name]))
    assert found["a"][0] < geometric_mean(ratios["a"]) < found["a"][1]
    assert all(np.isnan(geometric_mean_intervals(ratios.iloc[:1])["b"]))


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


def p_by_enumeration(differences: list[float]) -> float:
    """Return the share of all signs whose rank sum is as far from the middle, or further."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    middle = ranks.sum() / 2
    observed = abs(ranks[np.array(differences) > 0].sum() - middle)
    sums = [np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))]
    return float(np.mean([abs(total - middle) >= observed - 1e-9 for total in sums]))


@given(st.lists(st.floats(0.01, 3.0), min_size=1, max_size=9, unique=True), st.data())
def test_signed_rank_is_that_of_all_signs(sizes: list[float], data: st.DataObject) -> None:
    """The p-value is exact: compared with every assignment of signs to the ranks."""
    ordered = sorted(sizes)
    if any(b - a < 1e-6 for a, b in pairwise(ordered)):
        return
    differences = [x * data.draw(st.sampled_from([-1, 1])) for x in sizes]
    one = np.exp(differences)
    assert signed_rank_p(one, np.ones(len(one))) == pytest.approx(p_by_enumeration(differences))


@pytest.mark.slow
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=80), st.integers(1, 10))
def test_signed_rank_is_that_of_scipy(differences: list[int], divisor: int) -> None:
    """Exact or normal, with ties or without."""
    from scipy.stats import wilcoxon

    one = np.exp(np.array(differences) / divisor)
    left = np.log(one)[np.log(one) != 0]
    expected = float(wilcoxon(left).pvalue) if len(left) else 1.0
    assert signed_rank_p(one, np.ones(len(one))) == pytest.approx(expected, rel=1e-9)


def test_signed_rank_of_nothing_and_of_equals() -> None:
    """No pairs say nothing; equal pairs say that nothing is different, and are left out."""
    assert math.isnan(signed_rank_p([], []))
    assert signed_rank_p([2, 3], [2, 3]) == 1.0
    assert signed_rank_p([2, 3, 9], [1, 1, 9]) == signed_rank_p([2, 3], [1, 1]) == 0.5


def test_holm_by_hand() -> None:
    """Three tests: 3 x 0.01, 2 x 0.04, and no less than that for 0.05; no test is none."""
    found = holm([0.04, float("nan"), 0.01, 0.05])
    assert found[2] == pytest.approx(0.03)
    assert found[0] == found[3] == pytest.approx(0.08)
    assert math.isnan(found[1])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_par10_by_hand() -> None:
    """A task of 2 s, and one that did not deliver within 10 s, whatever it took."""
    assert par10([2.0, 3.0], [10.0, 10.0], [True, False]) == 51.0
    assert math.isnan(par10([], [], []))


def test_virtual_best_by_hand() -> None:
    """Alone on one of two instances, b makes the virtual best sqrt(2) times better."""
    costs = pd.DataFrame(
        {"a": [10.0, 10.0, np.nan], "b": [20.0, 5.0, np.nan], "c": [10.005, np.nan, np.nan]}
    )
    found = contributions(costs, tolerance=0.001)
    assert (found["a"].best_share, found["a"].only_best) == (0.5, 0)
    assert (found["b"].best_share, found["b"].only_best) == (0.5, 1)
    assert (found["c"].best_share, found["c"].only_best) == (0.5, 0)
    assert found["b"].loss == pytest.approx(2**0.5 - 1)
    assert found["a"].loss == pytest.approx(1.0005**0.5 - 1)
    assert found["c"].loss == 0.0


def test_wins_at_a_tolerance() -> None:
    """A cost within it is as good as the smallest; without one, only equal costs tie."""
    costs = pd.DataFrame({"a": [1000.0, 1000.0], "b": [1001.0, 1002.0]})
    assert wins_and_ties(costs).loc["a"].tolist() == [2, 0]
    found = wins_and_ties(costs, tolerance=0.001)
    assert found.loc["a"].tolist() == [1, 1]
    assert found.loc["b"].tolist() == [0, 1]
    assert wins_and_ties(-costs, tolerance=0.001).loc["b"].tolist() == [1, 1]
