"""Draws of devices, and averages of rewards."""

import math

import numpy as np
import pytest

from boundmark.heuristics.placement.learned.learning import (
    MovingAverage,
    allowed_devices,
    drawn,
)


def test_draws_follow_the_softmax() -> None:
    """A quarter, and three quarters, of 20,000 draws; never a device that is not allowed."""
    logits = np.tile(np.float32([0.0, math.log(3), -1e9]), (20_000, 1))
    share = np.bincount(drawn(logits, np.random.default_rng(1)), minlength=3) / 20_000
    assert share.tolist() == pytest.approx([0.25, 0.75, 0.0], abs=0.01)


def test_a_group_is_where_all_its_operators_can_be() -> None:
    """Or anywhere, if there is no such device."""
    supported = np.array([[True, True], [False, True], [True, False], [False, True]])
    found = allowed_devices(supported, np.array([0, 0, 1, 1]), 2)
    assert found.tolist() == [[False, True], [True, True]]


def test_moving_average_by_hand() -> None:
    """The first batch is compared with its own mean, the next with nine tenths of that."""
    average = MovingAverage()
    assert average.advantages(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]
    # Mean 2, and differences of 2 and 4 whose mean takes the spread from 1 to 1.2.
    assert average.advantages(np.array([4.0, 6.0])) == pytest.approx([2 / 1.2, 4 / 1.2])
    # The mean is 0.9 * 2 + 0.1 * 5.
    assert average.differences(np.array([2.3, 3.3]), np.array([2.3, 3.3]))[0] == (
        pytest.approx(0.0)
    )
