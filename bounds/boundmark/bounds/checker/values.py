"""Reads values that nobody vouches for: integers, lists, objects."""

import re
from typing import Any

LARGEST_COST = 2**53
LARGEST_AMOUNT = 2**80


class Rejected(Exception):  # noqa: N818 - it is a verdict
    """A file does not show what it claims; the message says why."""


# Nothing from a file is printed: it may be long, or not printable.


def fields(value: Any, what: str, names: set[str]) -> dict[str, Any]:
    """Return an object that has exactly these fields."""
    if type(value) is not dict or set(value) != names:
        raise Rejected(f"{what} is not an object with the fields {', '.join(sorted(names))}")
    return value


def integer(value: Any, what: str, low: int, high: int) -> int:
    """Return an integer in a range; it may be written as a text."""
    if type(value) is str and re.fullmatch("-?[0-9]{1,40}", value):
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise Rejected(f"{what} is not an integer from {low} to {high}")
    return value


def integers(value: Any, what: str, low: int, high: int) -> list[int]:
    """Return a list of integers in a range."""
    if type(value) is not list:
        raise Rejected(f"{what} is not a list")
    if set(map(type, value)) <= {int} and (not value or low <= min(value) <= max(value) <= high):
        return value
    return [integer(item, f"an entry of {what}", low, high) for item in value]


def text(value: Any, what: str, expected: str) -> None:
    """Raise `Rejected` unless a text is as expected."""
    if type(value) is not str or value != expected:
        raise Rejected(f"{what} is not {expected!r}")
