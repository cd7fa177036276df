"""Look names up, with suggestions for unknown ones."""

from collections.abc import Mapping
from typing import TypeVar

from boundmark.problems.errors import UnknownNameError

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
