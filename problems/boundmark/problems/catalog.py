"""Problems, methods and data sets by name; methods and data sets come from entry points.

A package adds methods with an entry point in the group ``boundmark.methods`` that names a `Method`
or a tuple of them, and data sets with one in ``boundmark.datasets`` that names a `Dataset` or a
tuple of them. Importing a module registers nothing.
"""

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

from boundmark.problems import microbatch, pipeline
from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import BoundmarkError, UnknownNameError
from boundmark.problems.method import Method
from boundmark.problems.problem import Problem

PROBLEMS: Mapping[str, Problem] = {
    problem.name: problem for problem in (pipeline.PROBLEM, microbatch.PROBLEM)
}


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=_Named)
Value = TypeVar("Value")


def find(what: str, name: str, among: Mapping[str, Value]) -> Value:
    """Return the value of a name.

    Parameters
    ----------
    what
        Kind of thing looked for, e.g. ``"method"``; used in the error.

    Raises
    ------
    UnknownNameError
        If there is none, with the names that come near.
    """
    if name in among:
        return among[name]
    near = difflib.get_close_matches(name, among, n=3, cutoff=0.5)
    known = "did you mean " + " or ".join(near) if near else "known are " + ", ".join(among)
    raise UnknownNameError(f"there is no {what} {name!r}; {known}.")


@cache
def methods() -> Mapping[str, Method]:
    """Return every registered method by name."""
    return _load("boundmark.methods", Method)


@cache
def datasets() -> Mapping[str, Dataset]:
    """Return every registered data set by name."""
    return _load("boundmark.datasets", Dataset)


def _load(group: str, kind: type[Item]) -> Mapping[str, Item]:
    found: dict[str, Item] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        value = point.load()
        items: Iterable[object] = value if isinstance(value, tuple) else (value,)
        for item in items:
            if not isinstance(item, kind):
                raise BoundmarkError(
                    f"entry point {point.name!r} of {group} holds a {type(item).__name__}; "
                    f"expected a {kind.__name__} or a tuple of them."
                )
            if item.name in found:
                raise BoundmarkError(
                    f"entry point {point.name!r} of {group} registers {item.name!r}, "
                    "which is taken; expected a name of its own."
                )
            found[item.name] = item
    return found
