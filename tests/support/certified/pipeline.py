"""Certificates of `pipeline` that prove the optimum of a tiny instance."""

from brute_force import instance

from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition, PipelineInstance

TIGHT: dict[str, tuple[str, PipelineInstance]] = {
    "max-work": ("max-work", instance([5, 3], [], 2)),
    "mean-work": ("mean-work", instance([2, 2], [], 2)),
    "node-cut": (
        "node-cut",
        instance([5, 5, 5], [(0, 1), (1, 2)], 3, transfer=[4, 2, 0]),
    ),
    "fractional-load": (
        "fractional-load",
        instance(
            [4, 4, 4, 3, 3, 4],
            [(0, 2), (0, 3), (0, 5), (1, 4), (2, 4), (2, 5)],
            2,
            transfer=[1, 2, 1, 2, 1, 1],
            param_load=[5, 6, 3, 0, 6, 2],
            cache=100,
        ),
    ),
    "share, one node": (
        "fractional-load",
        instance([5, 5, 5], [(0, 1), (1, 2)], 3, transfer=[4, 2, 0]),
    ),
    "mip-tree": (
        "mip-tree",
        instance([4, 4, 5, 1], [(0, 2), (1, 3)], 2, transfer=[1, 0, 2, 5]),
    ),
    "mip-tree, overflow": (
        "mip-tree",
        instance(
            [6, 7, 7, 2],
            [(0, 2), (0, 3)],
            2,
            transfer=[3, 2, 1, 2],
            param_load=[5, 0, 2, 4],
            cache=5,
        ),
    ),
    "prefix-bound": (
        "prefix-bound",
        instance([2, 3, 1, 2, 5], [(0, 3), (2, 3), (3, 4)], 2, transfer=[5, 4, 4, 0, 3]),
    ),
    "reach, overflow": (
        "prefix-bound",
        instance(
            [3, 1, 4, 1],
            [(0, 2), (0, 3), (1, 3), (2, 3)],
            2,
            transfer=[0, 2, 1, 4],
            param_load=[6, 5, 3, 1],
            cache=3,
        ),
    ),
    "reach, three stages": (
        "prefix-bound",
        instance([6, 7, 4, 5], [(0, 3), (1, 2), (2, 3)], 3, transfer=[4, 3, 0, 1]),
    ),
    "two-branch-dp": (
        "two-branch-dp",
        instance(
            [2, 7, 3, 2, 6],
            [(0, 1), (2, 3), (1, 4), (3, 4)],
            3,
            transfer=[4, 1, 5, 2, 0],
        ),
    ),
    "packing": (
        "packing",
        instance(
            [5, 5, 6, 7, 7],
            [(0, 2), (0, 3), (1, 4), (2, 4), (3, 4)],
            2,
            transfer=[3, 2, 3, 1, 0],
        ),
    ),
    "packing, three stages": (
        "packing",
        instance(
            [5, 5, 8, 6, 8],
            [(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)],
            3,
            transfer=[3, 0, 0, 2, 3],
        ),
    ),
    "packing, parameters as work": (
        "packing",
        instance([8, 8, 5], [(0, 2)], 2, transfer=[4, 1, 2], param_load=[7, 5, 7], cache=3),
    ),
    "packing, overflow of each part": (
        "packing",
        instance(
            [7, 4, 4, 1, 7],
            [(0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4)],
            2,
            transfer=[4, 5, 4, 5, 0],
            param_load=[4, 3, 4, 7, 3],
            cache=0,
        ),
    ),
    "cut-tree": (
        "cut-tree",
        instance([7, 4, 7, 1, 1], [(0, 2), (1, 3)], 2, transfer=[3, 1, 0, 2, 3]),
    ),
    "cut-tree, three stages": (
        "cut-tree",
        instance([7, 7, 1, 8, 5], [(0, 3), (0, 4), (2, 3)], 3, transfer=[5, 1, 4, 0, 2]),
    ),
    "cut-tree, parameters as work": (
        "cut-tree",
        instance(
            [1, 1, 4, 7, 6],
            [(0, 2), (0, 4), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4)],
            2,
            transfer=[2, 5, 0, 2, 4],
            param_load=[2, 5, 1, 3, 4],
            cache=4,
        ),
    ),
    "cut-tree, overflow": (
        "cut-tree",
        instance(
            [2, 1, 7, 4, 3],
            [(0, 1), (0, 3), (1, 3), (1, 4), (2, 3)],
            2,
            transfer=[0, 3, 2, 1, 1],
            param_load=[2, 6, 1, 2, 6],
            cache=11,
        ),
    ),
    "share, overflow": ("fractional-load", instance([1, 1], [], 2, param_load=[5, 5], cache=2)),
    "ideal-dp": (
        "ideal-dp",
        instance(
            [4, 4, 0, 3, 3, 4, 0],
            [(0, 2), (0, 3), (0, 5), (1, 4), (3, 4), (3, 5), (5, 6)],
            3,
            transfer=[1, 2, 1, 2, 1, 1, 0],
            param_load=[5, 6, 0, 0, 6, 2, 0],
            cache=7,
        ),
    ),
}


def is_tiny(instance: PipelineInstance) -> bool:
    """Whether all partitions are enumerated in milliseconds."""
    stages = min(instance.k, instance.nodes)
    return bool(stages**instance.nodes <= 3**7)


def solution(instance: PipelineInstance) -> Partition:
    """Return a solution in the right form."""
    return Partition(frozen([0] * instance.nodes))
