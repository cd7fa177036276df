"""Which programs a tree starts from: one for each way to cover all partitions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boundmark.bounds.pipeline.shares.windows import Windows, share_windows
from boundmark.bounds.pipeline.tree.superblocks import (
    Demand,
    Superblocks,
    around,
    around_any,
    merged_windows,
    single_stages,
)
from boundmark.problems.arrays import IntArray
from boundmark.problems.dag import Dag

Roots = list[tuple[Superblocks, Windows]]


@dataclass(frozen=True)
class Formulation:
    """The program that a tree relaxes.

    Attributes
    ----------
    kind
        Kind of its certificates, which fixes the roots.
    roots
        Maps a graph and its shares at a threshold to superblocks and windows. Each partition whose
        stages cost at most the threshold is in one of them.
    demand
        Of the stage that is singled out, if any.
    """

    kind: str
    roots: Callable[[Dag, IntArray], Roots]
    demand: Demand | None = None


def exact(k: int) -> Formulation:
    """Return the paper's exact program ([MTPP24], Figure 3)."""
    superblocks = single_stages(k)
    return Formulation(
        "mip-tree/1", lambda dag, amounts: [(superblocks, share_windows(dag, amounts, k))]
    )


def bottleneck(k: int, demand: Demand) -> Formulation:
    """Return the program of one stage, wherever it is ([MTPP24], Section 3.2)."""
    superblocks = around_any(k, demand)

    def roots(dag: Dag, amounts: IntArray) -> Roots:
        first = np.zeros(dag.nodes, dtype=np.int64)
        return [(superblocks, Windows(first, first + len(superblocks.merged) - 1))]

    return Formulation("bottleneck-tree/1", roots, demand)


def bottleneck_guess(k: int, demand: Demand) -> Formulation:
    """Return a program for each position of one stage ([MTPP24], Section 3.3)."""
    superblocks = [around(stage, k, demand) for stage in range(k)]

    def roots(dag: Dag, amounts: IntArray) -> Roots:
        windows = share_windows(dag, amounts, k)
        return [(superblocks[stage], merged_windows(windows, stage)) for stage in range(k)]

    return Formulation("bottleneck-guess-tree/1", roots, demand)
