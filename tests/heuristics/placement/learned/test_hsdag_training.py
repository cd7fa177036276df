"""The policy of HSDAG against what is worked out without JAX."""

import learned_policy
import numpy as np
import pytest
from other_process import call

pytest.importorskip("jaxlib.version", reason="the extra `learned` is not installed")


def test_encoder_is_that_of_the_formulas() -> None:
    """Sparse sums over padded arrays are products with D^-1/2 (A + I) D^-1/2."""
    found, expected = call(learned_policy.encoder)
    np.testing.assert_allclose(found["embeddings"], expected["embeddings"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-4)


def test_pooling_by_hand() -> None:
    """A group's embedding is a mean of its nodes', each by the score of its edge."""
    found, expected = call(learned_policy.pooling)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_gradients_are_difference_quotients() -> None:
    """Of the buffered loss, for all parameters; those of edge scores among them are not 0."""
    found = call(learned_policy.gradients)
    for name, (slope, quotient) in found.items():
        assert slope == pytest.approx(quotient, rel=0.05, abs=0.02), name
    assert abs(found["score.1.weights"][0]) > 1e-3


@pytest.mark.slow
def test_gradient_of_biases_is_reinforce() -> None:
    """Minus weight times (chosen - probability), summed over groups and steps (Equation 14)."""
    found, expected = call(learned_policy.bias_gradient)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
