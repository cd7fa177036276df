"""Penalised average runtime."""

import numpy as np
import numpy.typing as npt

PENALTY = 10.0


def par10(seconds: npt.ArrayLike, limits: npt.ArrayLike, delivered: npt.ArrayLike) -> float:
    """Return the mean time, where a task that did not deliver counts with ten times its limit.

    NaN for no tasks ([PARAMILS09]).

    Parameters
    ----------
    seconds, limits, delivered
        Of each task; what it took, what it was given, and whether it delivered.
    """
    taken, allowed = np.asarray(seconds, np.float64), np.asarray(limits, np.float64)
    if taken.size == 0:
        return float("nan")
    return float(np.where(np.asarray(delivered, np.bool_), taken, PENALTY * allowed).mean())
