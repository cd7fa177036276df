"""The interface between the checker and the folder of a problem."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """The functions of one problem that the checker calls.

    Attributes
    ----------
    read
        Returns an instance from the fields of its document, without format and problem.
    objective
        Returns what a solution costs, from its fields.
    solution_fields
        Names of these; a solution may have the `optional_fields` beside.
    kinds
        For each kind of certificate, the function that returns what a payload proves.
    """

    read: Callable[[dict[str, Any]], Any]
    objective: Callable[[Any, dict[str, Any]], int]
    solution_fields: frozenset[str]
    kinds: Mapping[str, Callable[[Any, Any], int]]
    optional_fields: tuple[str, ...] = ()
