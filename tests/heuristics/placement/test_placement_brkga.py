import numpy as np
from brute_force_placement import instance

from boundmark.heuristics.placement.placement_brkga import KeyCode

SAMPLE = instance([[1, -1, 3], [1, 1, 1], [-1, 2, -1]], [], memory=[1, 1, 1], capacity=[2, 1, 9])


def test_keys_mean_what_they_were_made_of() -> None:
    """Devices that support an operator share [0, 1]; priorities keep their order."""
    code = KeyCode(SAMPLE)
    devices, priority = np.array([2, 0, 1]), np.array([50, -7, 50])
    again, order = code.decoded(code.encoded(devices, priority))
    assert again is not None
    assert again.tolist() == devices.tolist()
    assert order[1] < order[0] < order[2]


def test_the_ends_of_the_scale_are_devices() -> None:
    """The key 1 means the last one that supports the operator."""
    code = KeyCode(SAMPLE)
    for key, expected in ((0.0, [0, 0, 1]), (1.0, [2, 2, 1])):
        devices, _ = code.decoded(np.full(6, key))
        assert devices is not None
        assert devices.tolist() == expected


def test_what_has_no_room() -> None:
    """It moves; without a place to go, there is no placement. Operator 2 runs on device 1 only."""
    code = KeyCode(SAMPLE)
    devices, _ = code.decoded(np.array([0.0, 0.0, 0.0, 0, 0, 0]))
    assert devices is not None
    assert devices.tolist() == [0, 0, 1]
    assert code.decoded(np.array([0.0, 0.5, 0.0, 0, 0, 0]))[0] is None
