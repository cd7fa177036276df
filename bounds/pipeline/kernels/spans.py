"""Measures what would have to be transferred around each node."""

import numpy as np
from numba import njit, types

from boundmark.bounds.pipeline.kernels.separation import Bits
from boundmark.problems.arrays import IntArray

_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_BITS = types.Array(types.uint64, 2, "C")


@njit([_VECTOR(_BITS, _BITS, _INPUT, _INPUT, _INPUT)], cache=True, nogil=True)
def spans(
    before: Bits, after: Bits, start: IntArray, targets: IntArray, transfer: IntArray
) -> IntArray:
    """Return the transfers of tensors that lead from before each node to behind it, shape (n,).

    Their producer is the node or one that it depends on, and some consumer depends on the node.

    Parameters
    ----------
    before, after
        The nodes that each node depends on, those that depend on it, and itself, as bits.
    start, targets
        The consumers of node v are ``targets[start[v] : start[v + 1]]``.
    transfer
        Ticks of each node's output, shape (n,).
    """
    nodes = len(transfer)
    total = np.zeros(nodes, dtype=np.int64)
    read_after = np.empty(before.shape[1], dtype=np.uint64)
    for u in range(nodes):
        if transfer[u] == 0:
            continue
        read_after[:] = 0
        for edge in range(start[u], start[u + 1]):
            for word in range(len(read_after)):
                read_after[word] |= before[targets[edge], word]
        for word in range(len(read_after)):
            # Nodes on the way from u to one of its consumers, ends included.
            rest = read_after[word] & after[u, word]
            for bit in range(64):
                if (rest >> np.uint64(bit)) & np.uint64(1):
                    total[64 * word + bit] += transfer[u]
    return total
