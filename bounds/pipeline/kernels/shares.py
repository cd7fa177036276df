"""Finds the largest threshold that the share bound refutes."""

import numpy as np
from numba import njit, types

from boundmark.problems.arrays import IntArray

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_TABLE = types.Array(types.int64, 2, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")


@njit([_INT(_INT, _INT, _TABLE, _INPUT)], cache=True, nogil=True)
def _node_io(i: int, t: int, cuts: IntArray, io_weights: IntArray) -> int:
    """Return the largest ``ceil((C_v(a) - t) / (a - 1))`` over the weights a, at least 0."""
    io = 0
    for j in range(len(io_weights)):
        excess = cuts[i, j] - t
        if excess > io * (io_weights[j] - 1):
            io = -(-excess // (io_weights[j] - 1))
    return io


@njit([_VECTOR(_INT, _TABLE, _INPUT)], cache=True, nogil=True)
def io_bounds(t: int, cuts: IntArray, io_weights: IntArray) -> IntArray:
    """Return io_v(t) for each row of the table."""
    io = np.empty(len(cuts), dtype=np.int64)
    for i in range(len(cuts)):
        io[i] = _node_io(i, t, cuts, io_weights)
    return io


@njit([types.boolean(_INT, _INT, _TABLE, *(_INPUT,) * 3, _INT)], cache=True, nogil=True)
def _is_refuted(
    t: int,
    k: int,
    cuts: IntArray,
    io_weights: IntArray,
    work: IntArray,
    load: IntArray,
    cache: int,
) -> bool:
    """Whether the table shows that no k stages of cost at most t hold all nodes."""
    # Rounding errors of the sums are smaller than this margin, so none refutes wrongly.
    enough = k * (1.0 + len(cuts) * 2.0**-50)
    shares, loaded_shares = 0.0, 0.0
    for i in range(len(cuts)):
        room = t - _node_io(i, t, cuts, io_weights)
        loaded = work[i] + load[i]
        if work[i] > room or loaded > room + cache:
            return True
        if work[i] > 0:
            shares += work[i] / room
        if loaded > 0:
            loaded_shares += loaded / (room + cache)
        if shares > enough or loaded_shares > enough:
            return True
    return False


@njit([_INT(*(_INT,) * 3, _TABLE, *(_INPUT,) * 3, _INT)], cache=True, nogil=True)
def largest_refuted(
    k: int,
    refuted: int,
    unrefuted: int,
    cuts: IntArray,
    io_weights: IntArray,
    work: IntArray,
    load: IntArray,
    cache: int,
) -> int:
    """Return the largest refuted threshold.

    Parameters
    ----------
    refuted, unrefuted
        Thresholds known to be.
    cuts, io_weights
        C_v(a) by node and weight, and the weights, all above 1.
    work, load, cache
        Work and parameters of the table's nodes, and parameters that fit, in ticks.
    """
    while unrefuted - refuted > 1:
        t = (refuted + unrefuted) // 2
        if _is_refuted(t, k, cuts, io_weights, work, load, cache):
            refuted = t
        else:
            unrefuted = t
    return refuted
