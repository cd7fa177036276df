"""A solution of `slicing`: a partition vector for each operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.stored_fields import is_integer_table


@dataclass(frozen=True, eq=False)
class SlicingPlan:
    """Which indices of each operator each device computes.

    Attributes
    ----------
    vectors
        Device j computes the indices from ``vectors[i, j]`` up to ``vectors[i, j + 1]``, exclusive,
        of operator i, shape (N, n + 1) ([MEMORIANOVA24], Equations 6 to 11).
    """

    vectors: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors, "vectors"))
        if self.vectors.ndim != 2:
            raise InvalidInputError(
                f"vectors have the shape {self.vectors.shape}; expected (operators, devices + 1)."
            )

    def to_json(self) -> dict[str, Any]:
        """Return ``{"vectors": [[0, ..., length], ...]}``."""
        return {"vectors": self.vectors.tolist()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SlicingPlan":
        """Read what `to_json` wrote.

        Raises
        ------
        InvalidInputError
            If vectors are missing or malformed.
        """
        vectors = value.get("vectors")
        if not is_integer_table(vectors) or not vectors:
            raise InvalidInputError(
                "vectors of the solution is not a list of equally long lists of integers."
            )
        return cls(frozen(vectors, "vectors"))
