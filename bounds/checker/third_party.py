"""Finds checkers of other problems in installed packages.

A package names a `Problem`, or an object with the same attributes, in an entry point of the group
``boundmark.checkers`` that is called like the problem. A verdict on such a problem is worth as much
as that package. Verdicts on the problems of this folder do not depend on it: it is not even
imported for them.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from .problem import Problem
from .values import LARGEST_AMOUNT, Rejected, printable

GROUP = "boundmark.checkers"

# Reasons of other packages are cut off here.
LONGEST_REASON = 500

_loaded: dict[str, Problem] = {}


def installed_checker(name: str) -> Problem | None:
    """Return the checker that an installed package offers for a problem, or None."""
    if name not in _loaded:
        points = [point for point in _entry_points() if point.name == name]
        if not points:
            return None
        if len({point.value for point in points}) > 1:
            raise Rejected("several packages claim to check the instance's problem")
        try:
            found = points[0].load()
            _loaded[name] = Problem(
                _guarded(found.read),
                _guarded(found.objective, is_integer=True),
                frozenset(_texts(found.solution_fields)),
                {kind: _guarded(proves, is_integer=True) for kind, proves in found.kinds.items()},
                _texts(getattr(found, "optional_fields", ())),
            )
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Rejected(f"the problem's checker cannot be loaded: {_words(error)}") from None
    return _loaded[name]


@cache
def _entry_points() -> list[Any]:
    # Problems of this folder do without it.
    from importlib.metadata import distributions

    found = []
    for package in distributions():
        try:
            points = list(package.entry_points)
        except Exception:
            # Its files are damaged, so it offers nothing.
            continue
        found += [point for point in points if point.group == GROUP]
    return found


def _texts(names: Any) -> tuple[str, ...]:
    if any(type(name) is not str for name in names):
        raise Rejected("the names of its fields are not texts")
    return tuple(names)


def _guarded(function: Callable[..., Any], is_integer: bool = False) -> Callable[..., Any]:
    """Return a function that turns every exception of another one into a rejection."""

    def call(*arguments: Any) -> Any:
        try:
            result = function(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Rejected(_words(error)) from None
        if is_integer and (type(result) is not int or abs(result) > LARGEST_AMOUNT):
            raise Rejected("the problem's checker did not return an integer of at most 2^80")
        return result

    return call


def _words(error: BaseException) -> str:
    # A copy of this folder has a `Rejected` of its own, which the package does not know.
    is_verdict = type(error).__name__ == Rejected.__name__
    words = str(error) if is_verdict else f"{type(error).__name__}: {error}"
    return printable(words[:LONGEST_REASON])
