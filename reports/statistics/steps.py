"""Events of many tasks at once, and step functions of time that they make."""

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def in_time(tasks: Places, seconds: Floats, limits: Floats) -> Places:
    """Return the places of the events before their task's limit, by task and time.

    Parameters
    ----------
    tasks
        The task of each event, as its place in `limits`.
    """
    before = np.flatnonzero(seconds < limits[tasks])
    return before[np.lexsort((seconds[before], tasks[before]))]


def smallest_so_far(tasks: Places, values: Floats) -> Floats:
    """Return, for each event, the smallest value of its task up to it; NaN is no value."""
    known = pd.Series(np.where(np.isnan(values), np.inf, values))
    return np.asarray(known.groupby(tasks).cummin(), np.float64)


def mean_heights(tasks: Places, seconds: Floats, heights: Floats, limits: Floats) -> Floats:
    """Return the mean of each task's step function from 0 to its limit.

    Parameters
    ----------
    tasks, seconds, heights
        Of each step, in the order of `in_time`: the function has this height from then on, and is
        1 before the first step of its task.
    limits
        Of each task, above 0.
    """
    is_first = np.diff(tasks, prepend=-1) != 0
    previous = np.where(is_first, 0.0, np.roll(seconds, 1))
    height = np.where(is_first, 1.0, np.roll(heights, 1))
    # Adds the steps of a task in their order.
    area = np.bincount(tasks, height * (seconds - previous), minlength=len(limits))
    is_last = np.roll(is_first, -1)
    now, last = np.zeros(len(limits)), np.ones(len(limits))
    now[tasks[is_last]], last[tasks[is_last]] = seconds[is_last], heights[is_last]
    means: Floats = (area + last * (limits - now)) / limits
    return means
