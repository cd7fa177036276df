"""Checks of the fields of stored instances and solutions, whatever a JSON file may hold."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from boundmark.problems.errors import InvalidInputError, quoted


def check_format(document: Mapping[str, Any], expected: str) -> None:
    """Refuse a document of another format.

    Raises
    ------
    InvalidInputError
        If ``format`` is missing or not the expected one.
    """
    if document.get("format") != expected:
        raise InvalidInputError(f"format is {document.get('format')!r}; expected {expected!r}.")


def check_fields(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document that lacks a field.

    Raises
    ------
    InvalidInputError
        For the first field that is missing.
    """
    for field in fields:
        if field not in document:
            raise InvalidInputError(f"{field} is missing; expected {', '.join(fields)}.")


def check_lists(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists in some fields.

    Raises
    ------
    InvalidInputError
        For the first field that is no list.
    """
    for field in fields:
        if not isinstance(document[field], list):
            raise InvalidInputError(f"{field} is not a list; expected one.")


def check_integer_lists(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists of integers in some fields.

    Raises
    ------
    InvalidInputError
        For the first field that is none.
    """
    for field in fields:
        if not is_integer_list(document[field]):
            raise InvalidInputError(f"{field} is not a list of integers.")


def check_integer_tables(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists of equally long lists of integers.

    Raises
    ------
    InvalidInputError
        For the first field that is none.
    """
    for field in fields:
        if not is_integer_table(document[field]):
            raise InvalidInputError(f"{field} is not a table of integers.")


def check_groups(document: Mapping[str, Any], fields: Sequence[str]) -> None:
    """Refuse a document with something else than lists of lists of integers, of any lengths.

    Raises
    ------
    InvalidInputError
        For the first entry that is no list of integers.
    """
    for field in fields:
        for group in document[field]:
            if not is_integer_list(group):
                raise InvalidInputError(
                    f"an entry of {field} is {quoted(group)}; expected a list of integers."
                )


def check_edges(edges: Sequence[Any], ends: str) -> None:
    """Refuse a list with something else than pairs of integers.

    Parameters
    ----------
    ends
        What the integers are, e.g. ``"node numbers"``.

    Raises
    ------
    InvalidInputError
        For the first entry that is no such pair.
    """
    for edge in edges:
        if not is_integer_list(edge) or len(edge) != 2:
            raise InvalidInputError(f"edge {edge!r} is not a pair of {ends}.")


def is_integer_list(value: Any) -> TypeGuard[list[int]]:
    """Whether a value is a list of integers; truth values are none."""
    return isinstance(value, list) and all(type(item) is int for item in value)


def is_integer_table(value: Any) -> TypeGuard[list[list[int]]]:
    """Whether a value is a list of lists of integers that are equally long."""
    return isinstance(value, list) and all(
        is_integer_list(row) and len(row) == len(value[0]) for row in value
    )
