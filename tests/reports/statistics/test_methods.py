"""Statistics that compare methods, by hand and against other computations."""

import math
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.reports.statistics import (
    contributions,
    holm,
    par10,
    performance_profile,
    signed_rank_p,
    wins_and_ties,
)


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
