import numpy as np
import pytest

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.ticks import check_total, to_nanoseconds


def test_seconds_are_rounded_to_the_nearest_nanosecond() -> None:
    """Half a nanosecond goes to the even neighbour, as everywhere in numpy."""
    seconds = np.array([0.0, 1.4e-9, 1.6e-9, 2.0])
    assert to_nanoseconds(seconds).tolist() == [0, 1, 2, 2_000_000_000]


def test_totals_up_to_the_limit_are_allowed() -> None:
    """2^53 in all is the last sum that every JSON reader keeps."""
    check_total([2**52, 2**51], [2**51])
    with pytest.raises(InvalidInputError, match=r"add up to 9.01e\+15 ticks; expected at most 2"):
        check_total([2**52, 2**51], [2**51 + 1])
