"""Certificates of `slicing` that prove the optimum of a tiny instance."""

import numpy as np
from brute_force_slicing import HALO, instance, needs, needs_all, plans

from boundmark.problems.slicing import SlicingInstance, SlicingPlan

CHAIN = instance([4, 4], [[9, 9], [8, 8]], [needs(0, 1, 4)])

TIGHT: dict[str, tuple[str, SlicingInstance]] = {
    "slice-compute": ("slice-compute", CHAIN),
    "slice-compute, speeds": ("slice-compute", instance([5], [[20, 5]], launch=[1, 2])),
    "slice-potentials, slow router": (
        "slice-potentials",
        instance([4, 4], [[8, 8], [8, 8]], [needs_all(0, 1, 4, 3)]),
    ),
    "slice-potentials, halo": (
        "slice-potentials",
        instance([4, 4], [[8, 8], [9, 9]], [needs(0, 1, 4, HALO)], point_to_point=(3, 1)),
    ),
    "slice-potentials, dimensions cross": (
        "slice-potentials",
        instance([3, 4], [[6, 6], [9, 9]], [needs(0, 1, 4, unit=9)], axis=[0, 1]),
    ),
    "slice-potentials, three inputs": (
        "slice-potentials",
        instance(
            [2, 2, 2, 2], [[5, 5], [6, 6], [7, 7], [8, 8]],
            [needs(0, 3, 2), needs(1, 3, 2), needs(2, 3, 2)],
        ),
    ),
    "slice-memory, halves": (
        "slice-memory",
        instance(
            [4, 4], [[8, 8], [8, 8]], [needs_all(0, 1, 4, 2)], axis=[0, 0], output=[2, 2],
            weights=[0, 8], capacity=[16, 16],
        ),
    ),
}  # fmt: skip


def is_tiny(sample: SlicingInstance) -> bool:
    """Whether all plans are enumerated in a fraction of a second."""
    return sample.nodes <= 5 and sample.graph.devices <= 4 and plans(sample) <= 2000


def solution(sample: SlicingInstance) -> SlicingPlan:
    """Return a solution in the right form: everything on the first device."""
    vectors = np.repeat(sample.graph.length[:, None], sample.graph.devices + 1, axis=1)
    vectors[:, 0] = 0
    return SlicingPlan(vectors)
