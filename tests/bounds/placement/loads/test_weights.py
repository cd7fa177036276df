import numpy as np
import pytest

from boundmark.bounds.placement.loads.weights import UNITS, assignment_weights


def weights_of(duration: list[list[int]], lost: list[int], **given: np.ndarray) -> list[int]:
    """Return the weights where every device may be used."""
    ticks = np.array(duration)
    found = assignment_weights(ticks, np.ones_like(ticks, dtype=bool), np.array(lost), **given)
    assert found is not None
    return found.weights


def test_equal_devices_have_equal_weights() -> None:
    """The mean counts."""
    assert weights_of([[3, 3], [4, 4]], [0, 0]) == [UNITS // 2, UNITS // 2]


def test_faster_devices_weigh_more() -> None:
    """Twice the speed, twice the weight: then it does not matter where an operator is."""
    fast, slow = weights_of([[2, 4], [2, 4], [2, 4]], [0, 0])
    assert fast == pytest.approx(2 * slow, abs=1)


def test_scarce_memory_has_a_weight() -> None:
    """The fast device has room for one operator only, the other one works for the rest."""
    found = assignment_weights(
        np.array([[2, 6], [2, 6]]), np.ones((2, 2), dtype=bool), np.zeros(2, dtype=np.int64),
        memory=np.array([1, 1]), capacity=np.array([1, 1]),
    )  # fmt: skip
    assert found is not None
    assert found.memory_weights[0] > 0


def test_no_weights_without_an_assignment() -> None:
    """If not even fractions fit, the linear program has no solution."""
    found = assignment_weights(
        np.array([[2], [2]]), np.ones((2, 1), dtype=bool), np.zeros(1, dtype=np.int64),
        memory=np.array([2, 2]), capacity=np.array([3]),
    )  # fmt: skip
    assert found is None
