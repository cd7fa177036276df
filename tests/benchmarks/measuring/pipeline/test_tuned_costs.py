"""Times of operators that follow from measured times of stages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.benchmarks.measuring.pipeline.tuned_costs import (
    StageObservation,
    TuningSettings,
    tuned_work,
)

PREDICTED = np.array([100, 200, 300, 400])
KINDS = ("a", "a", "b", "b")
CLASSES = ("x", "x", "y", "y")


def seen(*stages: tuple[list[int], float], noise: float = 0.0) -> list[StageObservation]:
    """Return observations of stages: their operators and nanoseconds."""
    return [
        StageObservation(np.isin(np.arange(4), members), time, noise) for members, time in stages
    ]


def test_nothing_has_run() -> None:
    """Then costs are what was predicted."""
    assert tuned_work(PREDICTED, CLASSES, KINDS, []).tolist() == [100, 200, 300, 400]


def test_the_last_stages_take_what_was_measured() -> None:
    """Whatever the estimate says of single operators."""
    rounds = [seen(([0, 1, 2], 900.0), ([3], 300.0)), seen(([0], 150.0), ([1, 2, 3], 1050.0))]
    found = tuned_work(PREDICTED, CLASSES, KINDS, rounds)
    assert found[0] == pytest.approx(150)
    assert found[1:].sum() == pytest.approx(1050)


def test_operators_of_one_kind_are_alike() -> None:
    """A stage of one operator tells more about its own kind than about others."""
    found = tuned_work(PREDICTED, CLASSES, KINDS, [seen(([0], 200.0))])
    assert found[0] == pytest.approx(200)
    assert found[1] / 200 > found[2] / 300 > 1
    assert found[2] / 300 == pytest.approx(found[3] / 400)


def test_noise_pulls_towards_what_was_predicted() -> None:
    """Of an operator that is in no stage of the last partition."""
    quiet, loud = (
        tuned_work(PREDICTED, CLASSES, KINDS, [seen(([0], 200.0), noise=noise)])[1]
        for noise in (0.0, 1.0)
    )
    assert 200 < loud < quiet


def test_the_estimate_is_that_of_the_whole_covariance_matrix() -> None:
    """The system of as many equations as stages has the solution of the one over all operators."""
    settings = TuningSettings(noise=0.05)
    observations = seen(([0, 1], 500.0), ([2], 200.0))
    prior = PREDICTED.astype(float)
    same = [np.equal.outer(np.array(names), np.array(names)) for names in (CLASSES, KINDS)]
    factors = (
        settings.common**2 * np.ones((4, 4))
        + settings.of_class**2 * same[0]
        + settings.of_kind**2 * same[1]
        + settings.of_operator**2 * np.eye(4)
    )
    covariance = factors * np.outer(prior, prior)
    sums = np.array([one.members for one in observations], float)
    errors = np.array([0.05 * one.nanoseconds for one in observations]) ** 2 + 1
    information = np.linalg.inv(covariance) + sums.T @ np.diag(1 / errors) @ sums
    measured = np.array([one.nanoseconds for one in observations])
    expected = prior + np.linalg.solve(information, sums.T @ ((measured - sums @ prior) / errors))
    found = tuned_work(PREDICTED, CLASSES, KINDS, [observations, []], settings)
    assert found == pytest.approx(expected, rel=1e-6)


@given(st.data())
def test_times_stay_positive_and_finite(data: st.DataObject) -> None:
    """However far measured times are from what was predicted, stages without operators included."""
    times = st.floats(0, 1e12)
    groups = st.lists(st.integers(0, 3), min_size=4, max_size=4)
    rounds = []
    for _ in range(data.draw(st.integers(1, 3))):
        stages = np.array(data.draw(groups))
        rounds.append([StageObservation(stages == one, data.draw(times), 0.02) for one in range(4)])
    found = tuned_work(PREDICTED, CLASSES, KINDS, rounds)
    assert np.isfinite(found).all()
    assert (found > 0).all()
