"""Tests of pairs, penalised times, integrals and the virtual best, against other computations."""

import math
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.reports.statistics.integrals import mean_dual_gaps, mean_primal_gaps
from boundmark.reports.statistics.methods import (
    contributions,
    holm,
    par10,
    signed_rank_p,
    wins_and_ties,
)

EVENTS = st.lists(st.tuples(st.floats(0, 12), st.floats(1, 100)), max_size=8)


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
