"""Numbers with units in TOML files: a key ends in the unit, and values become SI units."""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

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


Units = Mapping[str, Fraction]

# Bytes a second, seconds, bytes, operations a second.
BANDWIDTH: Units = {
    "gb_per_s": Fraction(10**9),
    "mb_per_s": Fraction(10**6),
    "gbit_per_s": Fraction(10**9, 8),
    "mbit_per_s": Fraction(10**6, 8),
}
DURATION: Units = {
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
MEMORY: Units = {
    "gib": Fraction(2**30),
    "mib": Fraction(2**20),
    "gb": Fraction(10**9),
    "mb": Fraction(10**6),
}
RATE: Units = {
    "tera_ops_per_s": Fraction(10**12),
    "giga_ops_per_s": Fraction(10**9),
}


def spellings(field: str, units: Units) -> list[str]:
    """Return the keys under which a field is looked for; without unit, to say that it lacks one."""
    return [field, *(f"{field}_{unit}" for unit in units)]


def find_key(table: Mapping[str, Any], field: str, units: Units) -> str:
    """Return the one key of a table that gives this field, in whatever unit.

    Raises
    ------
    InvalidInputError
        If it is missing, has no unit, or is given in two units.
    """
    without_unit, *possible = spellings(field, units)
    given = [key for key in possible if key in table]
    if len(given) == 1 and without_unit not in table:
        return given[0]
    if given:
        both = " and ".join(key for key in (without_unit, *given) if key in table)
        raise InvalidInputError(f"{both} are both given; expected one of them, with its unit.")
    what = "has no unit" if without_unit in table else "is missing"
    raise InvalidInputError(f"{field} {what}; expected {' or '.join(possible)}.")


def number(value: Any, key: str, *, may_be_zero: bool = False) -> Fraction:
    """Return a number of a TOML file without rounding it.

    Raises
    ------
    InvalidInputError
        If it is no number, or not in range.
    """
    if type(value) is not int and not isinstance(value, Decimal):
        raise InvalidInputError(f"{key} is {value!r}; expected a number.")
    if may_be_zero:
        check_non_negative(float(value), key)
    else:
        check_positive(float(value), key)
    return Fraction(value)


def quantity(
    table: Mapping[str, Any], field: str, units: Units, *, may_be_zero: bool = False
) -> Fraction:
    """Return a table's value for a field, in SI units.

    The decimal number is multiplied by its unit exactly, so that it is rounded only once when it
    becomes a floating-point number.

    Raises
    ------
    InvalidInputError
        If it is missing, has no unit, or is no number in its range.
    """
    key = find_key(table, field, units)
    value = number(table[key], key, may_be_zero=may_be_zero)
    return value * units[key.removeprefix(f"{field}_")]
