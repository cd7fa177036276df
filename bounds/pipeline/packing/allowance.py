"""How much sets may weigh, by their cost, so that no packing of them weighs too much."""

import numpy as np

from boundmark.bounds.pipeline.kernels import set_growth
from boundmark.bounds.pipeline.packing.pool import Front
from boundmark.problems.arrays import IntArray

# Of what the heaviest packing may gain in weight, the part that sets of half a stage's cost or less
# may: then none that is new is much of a problem, and larger ones hardly lose by it.
PART_FOR_SMALL_SETS = 0.5


def allowance(front: Front, most: int) -> IntArray | None:
    """Return the most that sets may weigh, by units of cost; None if known ones exceed it.

    Sets of at most half the units may weigh a little more than those that are known; larger ones,
    as much as is left by the heaviest packing beside them.

    Parameters
    ----------
    front
        Of the sets that are known.
    most
        The most that a packing may weigh.
    """
    units = len(front.weights) - 1
    half = units // 2
    known = np.maximum.accumulate(front.weights)
    more = PART_FOR_SMALL_SETS * max(0.0, most / front.most - 1.0)
    small = known.copy()
    small[half + 1 :] = 0
    small += (small * more).astype(np.int64)
    packed, last = np.zeros_like(small), np.zeros_like(small)
    set_growth.pack(small, packed, last)
    large = most - packed[::-1]
    if known[0] or packed[units] > most or (large < known)[half + 1 :].any():
        return None
    small[half + 1 :] = large[half + 1 :]
    return small
