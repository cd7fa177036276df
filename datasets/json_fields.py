"""Read the fields of JSON files of other programs, and refuse what is malformed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import json_object

# As a number of anything; sums of these as nanoseconds are refused later, where they are formed.
LARGEST = 1e15


def read_object(path: Path) -> Mapping[str, Any]:
    """Return the object that a file holds.

    Raises
    ------
    InvalidInputError
        If the file holds anything else.
    """
    content = read_bytes(path)
    with naming(path):
        return json_object(content)


def fields_of(content: bytes) -> set[str]:
    """Return the names of an object's fields; an empty set for anything else."""
    try:
        return set(json_object(content))
    except InvalidInputError:
        return set()


def an_object(value: Any, what: str) -> Mapping[str, Any]:
    """Return a value that has to be an object; raises `InvalidInputError` if it is not."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"{what} is {quoted(value)}; expected an object.")
    return value


def objects(table: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    """Return a field that has to be a list of objects.

    Raises
    ------
    InvalidInputError
        If it is missing or anything else.
    """
    values = table.get(field)
    if not isinstance(values, list):
        raise InvalidInputError(f"{field} is {quoted(values)}; expected a list.")
    return [an_object(value, f"entry {at} of {field}") for at, value in enumerate(values)]


def a_number(table: Mapping[str, Any], field: str, default: float | None = None) -> float:
    """Return a field that has to be a number that is not negative.

    Raises
    ------
    InvalidInputError
        If it is anything else, or missing and has no default.
    """
    value = table.get(field, default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Comparison is false for what is no number.
    if not is_number or not 0 <= value <= LARGEST:
        raise InvalidInputError(f"{field} is {quoted(value)}; expected a number from 0 to 10^15.")
    return float(value)


def a_count(table: Mapping[str, Any], field: str) -> int:
    """Return a field that has to be a whole number; raises as `a_number` does."""
    value = a_number(table, field)
    if not value.is_integer():
        raise InvalidInputError(f"{field} is {value}; expected a whole number.")
    return int(value)


def a_flag(table: Mapping[str, Any], field: str) -> bool:
    """Return a field that has to be true, false, 1 or 0; raises as `a_number` does."""
    value = table.get(field)
    if value not in (0, 1, False, True):
        raise InvalidInputError(f"{field} is {quoted(value)}; expected true or false.")
    return bool(value)


class Numbering:
    """Numbers of nodes by the ids that a file gives them."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], field: str = "id") -> None:
        self.numbers: dict[int | str, int] = {}
        for at, node in enumerate(nodes):
            key = node.get(field)
            if not isinstance(key, int | str) or isinstance(key, bool):
                raise InvalidInputError(f"{field} of node {at} is {quoted(key)}; expected an id.")
            if key in self.numbers:
                raise InvalidInputError(f"two nodes have the id {quoted(key)}; expected one.")
            self.numbers[key] = at

    def edge(self, entry: Mapping[str, Any], tail: str, head: str) -> tuple[int, int]:
        """Return the numbers of an edge's ends.

        Raises
        ------
        InvalidInputError
            If one is the id of no node.
        """
        found = []
        for field in (tail, head):
            key = entry.get(field)
            if isinstance(key, list | dict) or key not in self.numbers:
                raise InvalidInputError(f"{field} is {quoted(key)}; expected the id of a node.")
            found.append(self.numbers[key])
        return found[0], found[1]

    def names(self, nodes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Return the nodes' names; their ids if names are missing or repeated."""
        names = [node.get("name") for node in nodes]
        if all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names):
            return tuple(map(str, names))
        return tuple(map(str, self.numbers))
