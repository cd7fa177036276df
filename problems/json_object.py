"""Reading JSON that anyone may have written."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted


def json_object(content: bytes) -> Mapping[str, Any]:
    """Return the object that a JSON text is.

    Raises
    ------
    InvalidInputError
        If the text is no JSON, is nested too deeply to be read, is anything but an object, or has
        an object with a field twice.
    """
    try:
        value = json.loads(content, object_pairs_hook=without_repetition)
    except RecursionError as error:
        raise InvalidInputError("the JSON is nested too deeply to be read.") from error
    except ValueError as error:
        raise InvalidInputError(f"expected JSON; {_in_one_line(error)}.") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"expected an object, found {quoted(value)}.")
    return value


def without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object, for `json.loads`, which would keep the last of equals.

    Raises
    ------
    InvalidInputError
        If a field comes twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidInputError(f"an object has {quoted(twice)} twice; expected it once.")
    return found


def _in_one_line(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    return str(error)
