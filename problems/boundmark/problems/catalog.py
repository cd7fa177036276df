"""Problems, methods and data sets by name; all of them come from entry points.

A package adds problems with an entry point in the group ``boundmark.problems`` that names a
`Problem` or a tuple of them, methods in ``boundmark.methods`` (`Method`), and data sets in
``boundmark.datasets`` (`Dataset`). Importing a module registers nothing.
"""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from boundmark.problems.dataset import Dataset
from boundmark.problems.errors import UnknownNameError
from boundmark.problems.method import Method
from boundmark.problems.plugins import registered
from boundmark.problems.problem import Problem

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
    # Only mistakes need it.
    import difflib

    near = difflib.get_close_matches(name, among, n=3, cutoff=0.5)
    known = "did you mean " + " or ".join(near) if near else "known are " + ", ".join(among)
    raise UnknownNameError(f"there is no {what} {name!r}; {known}.")


@cache
def problems() -> Mapping[str, Problem]:
    """Return every registered problem by name, those of the lowest precedence number first."""
    found = registered("boundmark.problems", Problem)
    return dict(sorted(found.items(), key=lambda item: (item[1].precedence, item[0])))


@cache
def methods() -> Mapping[str, Method]:
    """Return every registered method by name."""
    return registered("boundmark.methods", Method)


@cache
def datasets() -> Mapping[str, Dataset]:
    """Return every registered data set by name."""
    return registered("boundmark.datasets", Dataset)
