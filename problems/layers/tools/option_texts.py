"""Options of a command line as people paste them: ``--tensor-split 3,1 -ngl 99``."""

import itertools
import re
import shlex
from collections.abc import Collection, Mapping

from boundmark.problems.errors import InvalidInputError, quoted


def read_options(
    text: str, known: Mapping[str, str], flags: Collection[str] = ()
) -> dict[str, str]:
    """Return the values of options, by what they mean; of several, the last one counts."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{quoted(text)} cannot be split into options: {error}; expected closed quotes."
        ) from error
    found: dict[str, str] = {}
    while words:
        word, equals, value = words.pop(0).partition("=")
        if word not in known:
            raise InvalidInputError(
                f"{quoted(word)} does not say which device has which layers; expected "
                f"{', '.join(known)}."
            )
        if known[word] in flags:
            value = ""
        elif not equals:
            if not words:
                raise InvalidInputError(f"{word} has no value; expected one.")
            value = words.pop(0)
        found[known[word]] = value
    return found


def integer(text: str, what: str, least: int = 0) -> int:
    """Return the integer that a text is.

    Raises
    ------
    InvalidInputError
        If it is none, or below the least.
    """
    if not re.fullmatch(r"\d{1,6}", text.strip(), re.ASCII) or int(text) < least:
        raise InvalidInputError(
            f"{what} is {quoted(text)}; expected an integer of at least {least}."
        )
    return int(text)


def integers(text: str, what: str) -> list[int]:
    """Return the integers of a text, which commas separate.

    Raises
    ------
    InvalidInputError
        If it has anything else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        raise InvalidInputError(f"{what} is {quoted(text)}; expected integers with commas.")
    return [int(part) for part in parts]


def differences(ends: list[int]) -> list[int]:
    """Return how many layers are between one end of a part and the next."""
    counts = [b - a for a, b in itertools.pairwise(ends)]
    if not counts or min(counts) < 0 or ends[0] != 0:
        raise InvalidInputError(f"the parts are {quoted(ends)}; expected 0 and then ascending.")
    return counts
