"""Reads untrusted values: integers, texts, lists and objects."""

import itertools
import re
from typing import Any

LARGEST_COST = 2**53
LARGEST_AMOUNT = 2**80

# In messages, texts from a file are cut off here.
LONGEST_QUOTE = 40


class Rejected(Exception):  # noqa: N818 - it is a verdict
    """Raised if a file does not prove what it claims; the message says why."""


class TooLarge(Rejected):
    """Raised if checking a file would exceed the limit on time or memory."""


class CheckFailed(Rejected):
    """Raised if the checker itself fails, which says nothing about the file."""


def quoted(value: Any) -> str:
    """Return a value from a file for a message: short, and of printable ASCII characters."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value) if value.bit_length() <= 128 else "an integer of more than 128 bits"
    if type(value) is str:
        return ascii(value[:LONGEST_QUOTE]) + ("..." if len(value) > LONGEST_QUOTE else "")
    names: dict[type, str] = {list: "a list", dict: "an object"}
    return names.get(type(value), "what is no JSON that this checker reads")


def printable(name: str) -> str:
    """Return the name of a file without characters that move the cursor or cannot be encoded."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def fields(value: Any, what: str, names: set[str], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an object that has exactly the fields of these names, and perhaps more."""
    expected = f"{what} is not an object with the fields {', '.join(sorted(names)) or '(none)'}"
    if type(value) is not dict:
        raise Rejected(f"{expected}, but {quoted(value)}")
    for name in sorted(names - set(value)):
        raise Rejected(f"{expected}: it lacks {name}")
    for name in value:
        if name not in names and name not in more:
            raise Rejected(f"{expected}: it has {quoted(name)}")
    return value


def integer(value: Any, what: str, low: int, high: int) -> int:
    """Return an integer in a range; it may be written as a text."""
    read = value
    if type(value) is str and re.fullmatch("-?[0-9]{1,40}", value):
        read = int(value)
    if type(read) is not int or not low <= read <= high:
        raise Rejected(f"{what} is not an integer from {low} to {high}, but {quoted(value)}")
    return read


def integers(value: Any, what: str, low: int, high: int) -> list[int]:
    """Return a list of integers in a range."""
    if type(value) is not list:
        raise Rejected(f"{what} is not a list, but {quoted(value)}")
    if set(map(type, value)) <= {int} and (not value or low <= min(value) <= max(value) <= high):
        return value
    return [integer(item, f"an entry of {what}", low, high) for item in value]


def number(value: Any, what: str, low: int, high: int) -> int:
    """Return an integer in a range that an instance has, which may not be written as a text.

    What an instance's hash identifies has one form.
    """
    if type(value) is str:
        raise Rejected(f"{what} is not an integer from {low} to {high}, but {quoted(value)}")
    return integer(value, what, low, high)


def numbers(value: Any, what: str, low: int, high: int) -> list[int]:
    """Return a list of integers in a range that an instance has."""
    if type(value) is list and str in map(type, value):
        raise Rejected(f"an entry of {what} is not an integer from {low} to {high}, but a text")
    return integers(value, what, low, high)


def pairs(value: Any, what: str, low: int, high: int) -> list[tuple[int, int]]:
    """Return a sorted list of distinct pairs of integers in a range that an instance has."""
    if type(value) is not list or not all(type(pair) is list and len(pair) == 2 for pair in value):
        raise Rejected(f"{what} is not a list of pairs")
    ends = numbers([end for pair in value for end in pair], what, low, high)
    found = list(zip(ends[::2], ends[1::2], strict=True))
    if any(first >= second for first, second in itertools.pairwise(found)):
        raise Rejected(f"{what} are not sorted, or repeated")
    return found


def require_text(value: Any, what: str, expected: str) -> None:
    """Raise `Rejected` unless a text is as expected."""
    if type(value) is not str or value != expected:
        raise Rejected(f"{what} is not {expected!r}, but {quoted(value)}")
