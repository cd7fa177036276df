"""Slicing of a topological order whose stages hand data on to their neighbours only."""

import numpy as np
from numba import types

from boundmark.heuristics.pipeline.kernels.compiling import compiled, internal
from boundmark.heuristics.pipeline.kernels.graph import INTEGERS
from boundmark.problems.arrays import IntArray

_ROW = types.int64[::1]
_UNREACHED = 2**40


@internal([types.int64(_ROW, _ROW, types.int64, _ROW)])
def _fewest_stages(
    work_before: IntArray, crossing: IntArray, threshold: int, fewest: IntArray
) -> int:
    positions = len(work_before)
    fewest[0] = 0
    first = 0
    for end in range(1, positions):
        while first < end and work_before[end] - work_before[first] > threshold:
            first += 1
        room = threshold - crossing[end]
        cuts, before = crossing[first:end], fewest[first:end]
        best = _UNREACHED
        for index in range(cuts.size):
            best = min(best, before[index] if cuts[index] <= room else _UNREACHED)
        fewest[end] = best + 1
    return int(fewest[positions - 1])


@compiled([_ROW(INTEGERS, INTEGERS, types.int64)])
def best_relayed_slicing(work: IntArray, crossing: IntArray, k: int) -> IntArray:
    """Return the ends of the slicing into at most k stages whose bottleneck stage is cheapest.

    Parameters
    ----------
    work
        Work of each position, shape (n,).
    crossing
        Cost of the data that crosses the cut before each position, shape (n + 1,); 0 at both ends.
        A stage costs the greater of its work and of its two cuts.
    """
    nodes = len(work)
    cuts = crossing.copy()
    work_before = np.zeros(nodes + 1, np.int64)
    for index in range(nodes):
        work_before[index + 1] = work_before[index] + work[index]
    fewest = np.empty(nodes + 1, np.int64)
    low, high = np.int64(0), work_before[nodes]
    while low < high:
        middle = low + (high - low) // 2
        if _fewest_stages(work_before, cuts, middle, fewest) <= k:
            high = middle
        else:
            low = middle + 1
    stages = _fewest_stages(work_before, cuts, high, fewest)
    ends = np.empty(stages, np.int64)
    end = nodes
    for stage in range(stages - 1, -1, -1):
        ends[stage] = end
        first = end - 1
        while (
            fewest[first] != stage
            or max(work_before[end] - work_before[first], cuts[first] + cuts[end]) > high
        ):
            first -= 1
        end = first
    return ends
