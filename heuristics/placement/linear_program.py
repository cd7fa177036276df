"""Solve linear programs of heuristics by HiGHS as scipy brings it.

Unlike highspy it gets along with other solvers in one process.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget


def minimum(
    cost: NDArray[np.float64],
    at_most: tuple[Any, NDArray[np.float64]],
    bounds: NDArray[np.float64],
    budget: Budget,
    equal: tuple[Any, NDArray[np.float64]] | tuple[None, None] = (None, None),
) -> NDArray[np.float64]:
    """Return x that minimises ``cost x``.

    Parameters
    ----------
    at_most, equal
        Pairs of a sparse matrix A and a vector b: ``A x <= b``, ``A x = b``.
    bounds
        Least and largest value of each x, shape (columns, 2).

    Raises
    ------
    UnsupportedError
        If the time is up before an optimum is found.
    """
    from scipy.optimize import linprog

    result = linprog(
        cost, *at_most, *equal, bounds, method="highs", options={"time_limit": budget.remaining()}
    )
    if result.status != 0:
        raise UnsupportedError("the linear program was not solved in the time that there was.")
    return np.asarray(result.x)
