"""Reading JSON that anyone may have written."""

import json
from collections.abc import Mapping
from typing import Any

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.quoted import quoted


def json_object(content: bytes) -> Mapping[str, Any]:
    """Return the object that a JSON text is.

    Raises
    ------
    InvalidInputError
        If the text is no JSON, is nested too deeply to be read, or is anything but an object.
    """
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise InvalidInputError("the JSON is nested too deeply to be read.") from error
    except ValueError as error:
        raise InvalidInputError(f"expected JSON; {_in_one_line(error)}.") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"expected an object, found {quoted(value)}.")
    return value


def _in_one_line(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    return str(error)
