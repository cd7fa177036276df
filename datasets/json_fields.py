"""Read the fields of JSON files of other programs, and refuse what is malformed."""

import codecs
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boundmark.problems.errors import InvalidInputError, quoted
from boundmark.problems.files import naming, read_bytes
from boundmark.problems.json_documents import json_object


def read_object(path: Path) -> Mapping[str, Any]:
    """Return the object that a file holds."""
    content = read_bytes(path)
    with naming(path):
        return object_in(content)


def object_in(content: bytes) -> Mapping[str, Any]:
    """Return the object that a file's content is."""
    return json_object(content.removeprefix(codecs.BOM_UTF8))


def fields_of(content: bytes) -> set[str]:
    """Return the names of an object's fields; an empty set for anything else."""
    try:
        return set(object_in(content))
    except InvalidInputError:
        return set()


def an_object(value: Any, what: str) -> Mapping[str, Any]:
    """Return a value that has to be an object; raises `InvalidInputError` if it is not."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"{what} is {quoted(value)}; expected an object.")
    return value


def objects(table: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    """Return a field that has to be a list of objects."""
    values = table.get(field)
    if not isinstance(values, list):
        raise InvalidInputError(f"{field} is {quoted(values)}; expected a list.")
    return [an_object(value, f"entry {at} of {field}") for at, value in enumerate(values)]


class Fields:
    """The fields of a document of another program, which remembers those that were asked for.

    Names in errors have `prefix` in front. Of several names, the first that the document has and
    that is not null counts.
    """

    def __init__(self, document: Mapping[str, Any], prefix: str = "") -> None:
        self.document, self.prefix = document, prefix
        self._used: set[str] = set()

    def unused(self) -> tuple[str, ...]:
        """Return the names of fields that nobody has asked for, with their prefix."""
        return tuple(f"{self.prefix}{name}" for name in self.document if name not in self._used)

    def skip(self, *names: str) -> None:
        """Say that fields are known, and make no difference."""
        self._used |= set(names)

    def has(self, name: str) -> bool:
        """Whether a field is there and not null."""
        return self.document.get(name) is not None

    def value(self, *names: str) -> Any:
        """Return the first of some fields that is there, whatever it is; None if there is none."""
        self._used |= set(names)
        found = (self.document[name] for name in names if self.has(name))
        return next(found, None)

    def number(self, *names: str, low: float, high: float, default: float | None = None) -> float:
        """Return a number within limits; raises as `integer` does."""
        value = self.value(*names)
        if value is None and default is not None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            raise self._wrong(names, value, f"a number from {low:,} to {high:,}")
        return float(value)

    def integer(self, *names: str, low: int, high: int, default: int | None = None) -> int:
        """Return an integer within limits."""
        value = self.value(*names)
        if value is None and default is not None:
            return default
        if type(value) is not int or not low <= value <= high:
            raise self._wrong(names, value, f"an integer from {low:,} to {high:,}")
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """Return true or false; raises as `integer` does."""
        value = self.value(*names)
        if value is None:
            return default
        if type(value) is not bool:
            raise self._wrong(names, value, "true or false")
        return value

    def text(self, *names: str, default: str | None = None) -> str:
        """Return a text; raises as `integer` does."""
        value = self.value(*names)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._wrong(names, value, "a text")
        return value

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of texts, empty if it is missing; raises as `integer` does."""
        return tuple(self._list(names, str, "a list of texts"))

    def integers(self, *names: str, low: int, high: int) -> tuple[int, ...]:
        """Return a list of integers within limits, empty if it is missing; raises as `integer`."""
        what = f"a list of integers from {low:,} to {high:,}"
        found = self._list(names, int, what)
        if not all(type(one) is int and low <= one <= high for one in found):
            raise self._wrong(names, self.value(*names), what)
        return tuple(found)

    def nested_texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts of a list of lists; raises as `integer` does."""
        what = "a list of lists of texts"
        found = [one for inner in self._list(names, list, what) for one in inner]
        if not all(isinstance(one, str) for one in found):
            raise self._wrong(names, self.value(*names), what)
        return tuple(found)

    def object(self, *names: str) -> Mapping[str, Any] | None:
        """Return an object, None if it is missing; raises as `integer` does."""
        value = self.value(*names)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(names, value, "an object")
        return value

    def objects(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Return an object of objects, empty if it is missing; raises as `integer` does."""
        found = self.object(name) or {}
        for key, value in found.items():
            an_object(value, f"{self.prefix}{name}.{key}")
        return found

    def _list(self, names: Sequence[str], kind: type, what: str) -> list[Any]:
        value = self.value(*names)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
            raise self._wrong(names, value, what)
        return value

    def _wrong(self, names: Sequence[str], value: Any, expected: str) -> InvalidInputError:
        if value is None:
            return InvalidInputError(f"{self.prefix}{names[0]} is missing; expected {expected}.")
        name = next(name for name in names if self.has(name))
        return InvalidInputError(f"{self.prefix}{name} is {quoted(value)}; expected {expected}.")
