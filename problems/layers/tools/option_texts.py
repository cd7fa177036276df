"""Options of a command line as people paste them: ``llama-server -m x.gguf -ts 3,1 -ngl 99``."""

import itertools
import re
import shlex
from collections.abc import Collection, Mapping

from boundmark.problems.errors import InvalidInputError, quoted


def read_options(
    text: str,
    known: Mapping[str, str],
    flags: Collection[str] = (),
    added: Collection[str] = (),
) -> dict[str, str]:
    """Return the values of known options, by what they mean; of several, the last one counts.

    Parameters
    ----------
    known
        What options, and variables such as ``LLAMA_ARG_TENSOR_SPLIT``, mean.
    flags
        Meanings of options without a value.
    added
        Meanings of options that may come several times, whose values are joined by commas.
    """
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
            continue
        if known[word] in flags:
            value = ""
        elif not equals:
            if not words:
                raise InvalidInputError(f"{word} has no value; expected one.")
            value = words.pop(0)
        before = found.get(known[word], "") if known[word] in added else ""
        found[known[word]] = f"{before},{value}" if before else value
    return found


def others(text: str, known: Collection[str]) -> list[str]:
    """Return the options of a command line that are none of those known."""
    words = (word.partition("=")[0] for word in shlex.split(text))
    return [word for word in words if re.match(r"--?[A-Za-z]", word) and word not in known]


def agree(text: str, spellings: Collection[str], count: int, what: str) -> None:
    """Refuse an option with another number than that of what stands beside it."""
    given = read_options(text, dict.fromkeys(spellings, "size")).get("size")
    if given is not None and integer(given, next(iter(spellings)), 1) != count:
        raise InvalidInputError(
            f"{next(iter(spellings))} is {given}, and {what}; expected {count}."
        )


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
    parts = [part.strip() for part in text.strip().strip("[]").split(",")]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        raise InvalidInputError(f"{what} is {quoted(text)}; expected integers with commas.")
    return [int(part) for part in parts]


def differences(ends: list[int]) -> list[int]:
    """Return how many layers are between one end of a part and the next."""
    counts = [b - a for a, b in itertools.pairwise(ends)]
    if not counts or min(counts) < 0 or ends[0] != 0:
        raise InvalidInputError(f"the parts are {quoted(ends)}; expected 0 and then ascending.")
    return counts
