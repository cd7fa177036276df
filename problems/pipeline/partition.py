"""A solution of `pipeline`: a stage for every node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.stored_fields import is_integer_list


@dataclass(frozen=True, eq=False)
class Partition:
    """The stage of each node, 0 to k - 1, shape (n,); stages may be empty."""

    stages: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", frozen(self.stages, "stages"))

    @classmethod
    def from_slices(cls, order: IntArray, ends: IntArray) -> "Partition":
        """Cut a topological order into consecutive stages.

        Parameters
        ----------
        order
            The nodes in topological order, shape (n,).
        ends
            Position after the last node of each stage, ascending, the last one n.
        """
        stages = [0] * len(order)
        first = 0
        for stage, end in enumerate(ends.tolist()):
            for node in order[first:end].tolist():
                stages[node] = stage
            first = end
        return cls(frozen(stages, "stages"))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"stages": [...]}``."""
        return {"stages": self.stages.tolist()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Partition":
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If ``stages`` is missing or not a list of integers.
        """
        stages = value.get("stages")
        if not is_integer_list(stages):
            raise InvalidInputError("stages of the solution is not a list of integers.")
        return cls(frozen(stages, "stages"))
