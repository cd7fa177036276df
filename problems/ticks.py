"""Ticks: the integer unit of time in which all costs of an instance are counted."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError

NANOSECONDS = 1e9

# Every sum that a bound or an objective forms from costs below this stays within 64 bits even
# after scaling by the bounds' denominators, and survives a trip through any JSON reader.
LARGEST_TOTAL = 2**53


def to_nanoseconds(seconds: npt.NDArray[np.float64]) -> IntArray:
    """Round seconds to a nanosecond, the only rounding between a model and its instance."""
    return frozen(np.rint(seconds * NANOSECONDS), "times in nanoseconds")


def check_total(*costs: Iterable[int]) -> None:
    """Refuse costs so large that sums of them would not stay exact everywhere."""
    total = sum(map(sum, costs))
    if total > LARGEST_TOTAL:
        raise InvalidInputError(
            f"the costs add up to {total:.3g} ticks; expected at most 2^53, so use a coarser tick."
        )
