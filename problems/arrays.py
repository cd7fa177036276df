"""Immutable integer arrays: the form in which all costs and adjacencies are kept."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.problems.errors import InvalidInputError, quoted

IntArray: TypeAlias = npt.NDArray[np.int64]

_LEAST, _GREATEST = -(2**63), 2**63 - 1


def frozen(values: Any, field: str = "an array") -> IntArray:
    """Return a read-only, contiguous int64 copy of an array of integers.

    Floating-point numbers are accepted if they are integers, such as `numpy.rint` returns.

    Parameters
    ----------
    field
        What the array is, for the error.

    Raises
    ------
    InvalidInputError
        If an entry is not an integer or does not fit into 64 bits, or if rows differ in length.
    """
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(
            f"rows of {field} differ in length; expected an array of integers."
        ) from error
    if given.dtype.kind != "i":
        _refuse_other_than_integers(given, field)
    array = np.array(given, dtype=np.int64, order="C")
    array.flags.writeable = False
    return array


def _refuse_other_than_integers(given: npt.NDArray[Any], field: str) -> None:
    """Raise `InvalidInputError` for the first entry that is not a 64-bit integer."""
    match given.dtype.kind:
        case "f":
            wide = given.astype(np.float64)
            # Both limits are powers of 2, hence exact in floating point.
            is_integer = (wide == np.rint(wide)) & (wide >= -(2.0**63)) & (wide < 2.0**63)
        case "u":
            is_integer = given <= np.uint64(_GREATEST)
        case "O":
            is_integer = np.array([_is_integer(entry) for entry in given.flat], dtype=bool)
        case _:
            is_integer = np.zeros(given.shape, dtype=bool)
    if not is_integer.all():
        at = np.unravel_index(int(np.argmin(is_integer)), given.shape)
        place = ", ".join(str(index) for index in at)
        raise InvalidInputError(
            f"entry [{place}] of {field} is {given[at]!s}; expected an integer of 64 bits."
        )


def _is_integer(entry: object) -> bool:
    return type(entry) is int and _LEAST <= entry <= _GREATEST


def non_negative_integers(values: Iterable[Any], field: str, names: tuple[str, ...]) -> IntArray:
    """Return one non-negative integer per node as a read-only array."""
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(items) != len(names):
        raise InvalidInputError(
            f"{field} has {len(items)} values; expected one for each of the {len(names)} nodes."
        )
    for name, value in zip(names, items, strict=True):
        where = f"{field} of node {quoted(name)}"
        if type(value) is not int or value < 0:
            raise InvalidInputError(f"{where} is {quoted(value)}; expected a non-negative integer.")
        if value > _GREATEST:
            raise InvalidInputError(
                f"{where} is {quoted(value)}, beyond 64 bits; use a coarser tick."
            )
    return frozen(items, field)


def plain_value(value: Any) -> Any:
    """Return a number of numpy, or of a package like it, as Python's; other values as they are.

    Examples
    --------
    >>> plain_value(np.int64(8))
    8
    """
    is_one_number = hasattr(value, "dtype") and getattr(value, "shape", None) == ()
    return value.item() if is_one_number else value
