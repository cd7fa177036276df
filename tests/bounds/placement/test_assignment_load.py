import numpy as np
import pytest

from boundmark.bounds.placement.assignment_load import (
    UNITS,
    AssignmentProgram,
    EqualOperators,
    Weights,
)


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


@pytest.mark.parametrize("seed", range(10))
def test_equal_operators_are_one(seed: int) -> None:
    """The weights prove as much as those of the program of each operator for itself."""
    dice = np.random.default_rng(seed)
    ticks = dice.integers(1, 9, (4, 3))[dice.integers(0, 4, 40)]
    allowed = dice.random((40, 3)) < 0.7
    allowed[:, 0] |= ~allowed.any(axis=1)
    lost = dice.integers(0, 20, 3)

    def mean_load(found: Weights | None) -> float:
        assert found is not None
        work = np.array(found.work)
        paid = np.where(allowed, work * ticks, 2**60).min(axis=1).sum()
        return float(paid + (work * lost).sum()) / float(work.sum())

    alone = AssignmentProgram(ticks, np.ones_like(allowed)).weights(allowed, lost, 60)
    together = EqualOperators(ticks).weights(allowed, lost, 60)
    assert mean_load(together) == pytest.approx(mean_load(alone), rel=1e-5)


def test_scarce_memory_has_a_weight() -> None:
    """The fast device has room for one operator only, the other one works for the rest."""
    found = weights_of([[2, 6], [2, 6]], [0, 0], memory=np.array([1, 1]), capacity=np.array([1, 1]))
    assert found is not None
    assert found.memory[0] > 0


def test_no_weights_without_an_assignment() -> None:
    """If not even fractions fit, the linear program has no solution."""
    found = weights_of([[2], [2]], [0], memory=np.array([2, 2]), capacity=np.array([3]))
    assert found is None
