"""Segments of a placement: operators that a device runs between two inputs from others."""

from collections.abc import Sequence

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag


def segments(dag: Dag, devices: Sequence[int] | IntArray) -> tuple[IntArray, tuple[int, ...]]:
    """Return the segment of each operator, and the device of each segment.

    The operators of one device seldom are a model that can run by itself: it reads what others
    make of its own results. A segment is all that a device runs after the same number of changes
    of device, counted along the path with most of them. So data only flow from a segment to those
    with larger numbers.

    Parameters
    ----------
    devices
        Device of each of the n operators, shape (n,).

    Returns
    -------
    tuple[IntArray, tuple[int, ...]]
        Numbers from 0 without gaps, shape (n,); and the device by number of segment.
    """
    placed = np.asarray(devices)
    changes = np.zeros(len(placed), dtype=np.int64)
    for tail in dag.topological_order.tolist():
        for head in dag.consumers_of(tail).tolist():
            least = changes[tail] + (placed[tail] != placed[head])
            changes[head] = max(changes[head], least)
    found, numbers = np.unique(np.stack([changes, placed], axis=1), axis=0, return_inverse=True)
    return frozen(numbers.reshape(-1), "segments"), tuple(found[:, 1].tolist())
