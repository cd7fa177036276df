"""A solution of `ordering`: the operators in the order in which they run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.stored_fields import is_integer_list


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
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If the order is missing or is no list of integers.
        """
        order = value.get("order")
        if not is_integer_list(order):
            raise InvalidInputError("order of the solution is not a list of integers.")
        return cls(frozen(order, "order of the solution"))
