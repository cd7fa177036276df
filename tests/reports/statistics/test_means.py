"""Geometric means and their intervals, on numbers that can be checked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.reports.statistics import (
    geometric_mean,
    geometric_mean_interval,
    geometric_mean_intervals,
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


def test_intervals_of_several_methods_at_once() -> None:
    """Those of each alone, and none where there is one instance."""
    ratios = pd.DataFrame({"a": [1.0, 1.5, 4.0, 2.0], "b": [1.0, 3.0, 1.1, 1.2]})
    found = geometric_mean_intervals(ratios)
    for name in ratios:
        assert found[name] == pytest.approx(geometric_mean_interval(ratios[name]))
    assert found["a"][0] < geometric_mean(ratios["a"]) < found["a"][1]
    assert all(np.isnan(geometric_mean_intervals(ratios.iloc[:1])["b"]))
