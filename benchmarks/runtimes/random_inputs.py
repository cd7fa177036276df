"""Draw random inputs of models."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from boundmark.problems.errors import BoundmarkError

WARM_UP = 2

SEED = 1


def random_input(name: str, extents: Sequence[int], kind: str) -> Any:
    """Draw values for an input; integers are 0 and 1, which are indices of most things.

    Parameters
    ----------
    kind
        Type of an element, as NumPy calls it.

    Raises
    ------
    BoundmarkError
        If NumPy has no such type.
    """
    generator = np.random.default_rng(SEED)
    try:
        dtype = np.dtype(kind)
    except TypeError as error:
        raise BoundmarkError(
            f"input {name!r} has elements of type {kind}, for which no values can be drawn."
        ) from error
    if dtype.kind == "f":
        return generator.standard_normal(tuple(extents)).astype(dtype)
    return generator.integers(0, 2, tuple(extents)).astype(dtype)
