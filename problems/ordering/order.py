"""A solution of `ordering`: the operators in the order in which they run."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.json_documents import is_integer_list
from boundmark.problems.labels import Naming
from boundmark.problems.problem import Row, SolutionTable

if TYPE_CHECKING:
    from boundmark.problems.ordering.instance import OrderingInstance


@dataclass(frozen=True, eq=False)
class ExecutionOrder:
    """All operators, one after another.

    Attributes
    ----------
    order
        Numbers of the operators, first to last, shape (n,).
    """

    order: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", frozen(self.order, "order"))
        if self.order.ndim != 1:
            raise InvalidInputError(
                f"order of the solution has the shape {self.order.shape}; expected (n,)."
            )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"order": [...]}``."""
        return {"order": self.order.tolist()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ExecutionOrder":
        """Read the JSON that `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If the order is missing or is no list of integers.
        """
        order = value.get("order")
        if not is_integer_list(order):
            raise InvalidInputError("order of the solution is not a list of integers.")
        return cls(frozen(order, "order of the solution"))


# Positions in a table may be numbers of a longer list, such as lines of a trace.
LARGEST_POSITION = 2**31


def _order(rows: Sequence[Row], instance: "OrderingInstance") -> ExecutionOrder:
    by_position = sorted((position, node) for node, position in rows)
    for (first, _), (second, _) in itertools.pairwise(by_position):
        if first == second:
            raise InvalidInputError(f"position {first} occurs twice; expected unique positions.")
    return ExecutionOrder(frozen([node for _, node in by_position], "order"))


def _rows(solution: ExecutionOrder) -> Iterable[Row]:
    position = {node: at for at, node in enumerate(solution.order.tolist())}
    return ((node, position[node]) for node in sorted(position))


def _renamed(instance: "OrderingInstance", names: Sequence[str], tick: str) -> "OrderingInstance":
    return replace(instance, graph=replace(instance.graph, names=tuple(names)))


TABLE = SolutionTable(
    columns=("operator", "position"), largest=LARGEST_POSITION, solution=_order, rows=_rows
)

NAMING = Naming(names=lambda instance: instance.graph.names, rename=_renamed)
