"""Immutable integer arrays: the form in which all costs and adjacencies are kept."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.problems.errors import InvalidInputError

IntArray: TypeAlias = npt.NDArray[np.int64]


def frozen(values: Any) -> IntArray:
    """Return a read-only, contiguous int64 copy of an integer array."""
    array = np.array(values, dtype=np.int64, order="C")
    array.flags.writeable = False
    return array


def non_negative_integers(values: Iterable[Any], field: str, names: tuple[str, ...]) -> IntArray:
    """Return one non-negative integer a node as a read-only array.

    Raises
    ------
    InvalidInputError
        If a value is negative or not an integer, or if there is not one value a node.
    """
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(items) != len(names):
        raise InvalidInputError(
            f"{field} has {len(items)} values; expected one for each of the {len(names)} nodes."
        )
    for name, value in zip(names, items, strict=True):
        if type(value) is not int or value < 0:
            raise InvalidInputError(
                f"{field} of node {name!r} is {value!r}; expected a non-negative integer."
            )
        if value >= 2**63:
            raise InvalidInputError(
                f"{field} of node {name!r} is {value}, beyond 64 bits; use a coarser tick."
            )
    return frozen(items)
