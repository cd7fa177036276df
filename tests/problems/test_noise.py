"""Times drawn around their values."""

import numpy as np
import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.noise import Noise, lead_over


def test_factors_are_around_one() -> None:
    """Mean 1, the given standard deviation, none below 0, and the same for the same seed."""
    noise = Noise(0.5, draws=20_000)
    factors = noise.factors(noise.generator(), 5)
    assert factors.shape == (20_000, 5)
    assert factors.min() > 0
    assert np.abs(factors.mean(axis=0) - 1).max() < 0.02
    assert np.abs(factors.std(axis=0) - 0.5).max() < 0.05
    assert (noise.factors(noise.generator(), 5) == factors).all()
    assert (Noise(0.0).factors(np.random.default_rng(3), 4) == 1).all()


@pytest.mark.parametrize(
    ("deviation", "draws", "expected"),
    [
        (-0.1, 10, "noise is -0.1; expected a fraction from 0 to 10"),
        (float("nan"), 10, "noise is nan; expected a fraction"),
        (0.1, 0, "draws is 0; expected 1 to 100000"),
    ],
)
def test_noise_that_is_none(deviation: float, draws: int, expected: str) -> None:
    """Is refused."""
    with pytest.raises(InvalidInputError, match=expected):
        Noise(deviation, draws)


def test_leads_by_hand() -> None:
    """Means, quantiles, and how often the solution is ahead; equal costs are not."""
    lead = lead_over(np.array([5.0, 10.0, 12.0]), np.array([10.0, 10.0, 10.0]), 9)
    assert lead.cost == pytest.approx(1.0)
    assert lead.lead == pytest.approx((0.5 + 0 - 0.2) / 3)
    assert (lead.low, lead.high) == pytest.approx((-0.18, 0.45))
    assert lead.ahead == pytest.approx(1 / 3)
    assert np.isnan(lead_over(np.ones(2), np.zeros(2), 0).lead)
