"""Problems, methods and data sets by name; all of them come from entry points."""

from collections.abc import Mapping
from functools import cache
from typing import get_args

from boundmark.problems.dataset import Dataset
from boundmark.problems.entry_points import problems, registered
from boundmark.problems.errors import find
from boundmark.problems.method import Kind, Method

__all__ = ["datasets", "may_treat", "methods", "methods_in_order", "problems"]


def methods(problem: str | None = None) -> Mapping[str, Method]:
    """Return the registered methods by name, of one problem or of all.

    For one problem, entry points that are named after another one, ``other`` or ``other-...``, are
    not loaded: importing methods takes time, and much more if their kernels are not compiled yet.
    """
    return _methods(problem)


def methods_in_order(problem: str | None = None) -> list[Method]:
    """Return the registered methods, of one problem or of all, by problem and kind."""
    found = methods(None if problem is None else find("problem", problem, problems()).name)
    order = list(dict.fromkeys(method.problem for method in found.values()))
    kinds = get_args(Kind)
    return sorted(found.values(), key=lambda one: (order.index(one.problem), kinds.index(one.kind)))


@cache
def _methods(problem: str | None) -> Mapping[str, Method]:
    if problem is None:
        return registered("boundmark.methods", Method)
    found = registered("boundmark.methods", Method, is_wanted=lambda p: may_treat(p.name, problem))
    return {name: method for name, method in found.items() if method.problem == problem}


def may_treat(entry_point: str, problem: str) -> bool:
    """Whether an entry point for methods, by its name, may hold some for a problem."""
    named = [name for name in problems() if f"{entry_point}-".startswith(f"{name}-")]
    # The longest one: problems may be called "one" and "one-machine".
    return not named or max(named, key=len) == problem


@cache
def datasets() -> Mapping[str, Dataset]:
    """Return every registered data set by name."""
    return registered("boundmark.datasets", Dataset)
