"""Instances with numbers up to the largest that are documented."""

import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

from recording import Recorder, record

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.problem import Instance, ParameterValue
from boundmark.problems.ticks import LARGEST_TOTAL


def multiplied(value: Mapping[str, Any], fields: Collection[str], factor: int) -> dict[str, Any]:
    """Return a stored instance with the positive numbers of some fields multiplied.

    Where all numbers may be negative, as changes of memory are, so are those below 0; a duration
    of -1 says that there is none.
    """
    keeps = ("duration",)
    return {
        name: _times(given, factor, name in keeps) if name in fields else given
        for name, given in value.items()
    }


def _times(value: Any, factor: int, keeps_negative: bool) -> Any:
    if isinstance(value, list):
        return [_times(one, factor, keeps_negative) for one in value]
    return value if keeps_negative and value < 0 else value * factor


def largest_factor(make: Callable[[int], object]) -> int:
    """Return the largest factor with which an instance can be made, by bisection."""
    accepted, refused = 1, 2 * LARGEST_TOTAL
    while refused - accepted > 1:
        middle = (accepted + refused) // 2
        try:
            make(middle)
        except InvalidInputError:
            refused = middle
        else:
            accepted = middle
    return accepted


def record_strictly(
    name: str, instance: Instance, seconds: float, params: Mapping[str, ParameterValue]
) -> Recorder:
    """Run a method; a warning, as numpy's of an invalid cast, is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return record(name, instance, seconds=seconds, params=params)
