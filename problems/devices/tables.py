"""Tables of a TOML file: which fields they have, and of what type."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from boundmark.problems.errors import InvalidInputError


def as_table(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a table.

    Raises
    ------
    InvalidInputError
        If it is not.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"found {value!r}; expected a table.")
    return value


def check_fields(table: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse fields that nothing reads, which are mostly misspelt ones.

    Raises
    ------
    InvalidInputError
        If there is one.
    """
    for field in table:
        if field not in known:
            near = difflib.get_close_matches(field, known, n=2)
            raise InvalidInputError(
                f"{field} is unknown; expected {' or '.join(near) if near else ', '.join(known)}."
            )


def required(table: Mapping[str, Any], field: str, what: str) -> Any:
    """Return a field's value.

    Raises
    ------
    InvalidInputError
        If it is missing.
    """
    if field not in table:
        raise InvalidInputError(f"{field} is missing; expected {what}.")
    return table[field]


def text(table: Mapping[str, Any], field: str, what: str) -> str:
    """Return a field's text.

    Raises
    ------
    InvalidInputError
        If it is missing, empty or no text.
    """
    value = required(table, field, what)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{field} is {value!r}; expected {what}.")
    return " ".join(value.split())
