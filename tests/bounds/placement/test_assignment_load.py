import numpy as np
import pytest

from boundmark.bounds.placement.assignment_load import UNITS, AssignmentProgram, Weights


def weights_of(duration: list[list[int]], lost: list[int], **given: np.ndarray) -> Weights | None:
    """Return the weights where every device may be used."""
    ticks = np.array(duration)
    everywhere = np.ones_like(ticks, dtype=bool)
    return AssignmentProgram(ticks, everywhere, **given).weights(everywhere, np.array(lost), 60)


def test_equal_devices_have_equal_weights() -> None:
    """The mean counts."""
    found = weights_of([[3, 3], [4, 4]], [0, 0])
    assert found == Weights([UNITS // 2, UNITS // 2], [0, 0])


def test_faster_devices_weigh_more() -> None:
    """Twice the speed, twice the weight: then it does not matter where an operator is."""
    found = weights_of([[2, 4], [2, 4], [2, 4]], [0, 0])
    assert found is not None
    assert found.work[0] == pytest.approx(2 * found.work[1], abs=1)


def test_a_program_is_solved_again() -> None:
    """As what is allowed changes, and back; a device that has to do all has all the weight."""
    ticks = np.array([[3, 3], [4, 4]])
    program = AssignmentProgram(ticks, np.ones((2, 2), dtype=bool))
    nothing = np.zeros(2, dtype=np.int64)
    for allowed, expected in (
        ([[1, 1], [1, 1]], [UNITS // 2, UNITS // 2]),
        ([[0, 1], [0, 1]], [0, UNITS]),
        ([[1, 1], [1, 1]], [UNITS // 2, UNITS // 2]),
    ):
        found = program.weights(np.array(allowed, dtype=bool), nothing, 60)
        assert found is not None
        assert found.work == expected


def test_scarce_memory_has_a_weight() -> None:
    """The fast device has room for one operator only, the other one works for the rest."""
    found = weights_of([[2, 6], [2, 6]], [0, 0], memory=np.array([1, 1]), capacity=np.array([1, 1]))
    assert found is not None
    assert found.memory[0] > 0


def test_no_weights_without_an_assignment() -> None:
    """If not even fractions fit, the linear program has no solution."""
    found = weights_of([[2], [2]], [0], memory=np.array([2, 2]), capacity=np.array([3]))
    assert found is None
