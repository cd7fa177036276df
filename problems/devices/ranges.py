"""Ranges that the numbers of devices and links must lie in."""

import math

from boundmark.problems.errors import InvalidInputError


def check_positive(value: float, field: str) -> None:
    """Refuse what is not positive.

    Raises
    ------
    InvalidInputError
        If the value is zero, negative, infinite or NaN.
    """
    if not (math.isfinite(value) and value > 0):
        raise InvalidInputError(f"{field} is {value:g}; expected a positive number.")


def check_non_negative(value: float, field: str) -> None:
    """Refuse what is neither zero nor positive.

    Raises
    ------
    InvalidInputError
        If the value is negative, infinite or NaN.
    """
    if not (math.isfinite(value) and value >= 0):
        raise InvalidInputError(f"{field} is {value:g}; expected zero or a positive number.")
