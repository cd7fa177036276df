"""Solutions as people write them down: a table with one row per node, or per node and number."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

# The number of a node, then an integer for each further column.
Row: TypeAlias = tuple[int, ...]


def _as_given(solution: Any) -> tuple[Any, Mapping[str, int | str]]:
    return solution, {}


def _no_names(instance: Any) -> Mapping[str, Sequence[str]]:
    return {}


@dataclass(frozen=True)
class SolutionTable:
    """How solutions of a problem are written as a table, which `evaluate` reads.

    Attributes
    ----------
    columns
        The header, e.g. ``("operator", "stage")``: first what a node is called, then integers. The
        last column is the answer, and there is one row for each combination of the others.
    largest
        The largest integer that makes sense in each column but the first.
    solution
        Makes a solution of rows, in any order, in which each node of an instance occurs. Raises
        `InvalidInputError` if rows are missing.
    rows
        Returns the rows of a solution.
    implied
        Returns a solution as it is meant if nobody says which parameters it is for, and these
        parameters: ``k`` is the number of stages that a partition uses.
    of_text
        Returns the solution that a text in the words of another tool means for an instance, None if
        it is no such text; None if there are no such words.
    value_names
        Returns what the numbers of further columns are called in an instance, by column: devices
        have names. Columns without names hold integers.
    says_all
        Whether the rows of a solution say all of it, so that it is written as a table at all.
    """

    columns: tuple[str, ...]
    largest: int
    solution: Callable[[Sequence[Row], Any], Any]
    rows: Callable[[Any], Iterable[Row]]
    implied: Callable[[Any], tuple[Any, Mapping[str, int | str]]] = _as_given
    value_names: Callable[[Any], Mapping[str, Sequence[str]]] = _no_names
    of_text: Callable[[str, Any], Any] | None = None
    says_all: Callable[[Any], bool] = lambda solution: True
