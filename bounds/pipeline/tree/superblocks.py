"""The superblocks of a tree's program: stages, or several stages in a row.

The paper's relaxations single out a stage that has at least a mean stage's work, and merge the
stages before it and those after it ([MTPP24], Sections 3.2 and 3.3). Their argument, Lemma 3.3,
holds for any amounts that nodes demand of their stage, not only for work: some stage has at least
the mean over the k stages, and at least as much as any single node demands.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.share import ShareTable
from boundmark.bounds.pipeline.windows import SHARE_UNITS, Windows, shares
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline.graph import PipelineGraph

# The number of the single stage among three superblocks.
MIDDLE = 1


@dataclass(frozen=True, eq=False)
class Demand:
    """Demands of the nodes, in units of 1 / SHARE_UNITS; some stage has `least` or more."""

    amounts: IntArray
    least: int

    @classmethod
    def of(cls, amounts: IntArray, k: int) -> "Demand":
        """Return the demand with the least amount that some of k stages has."""
        return cls(amounts, max(int(amounts.max()), -(-int(amounts.sum()) // k)))

    @classmethod
    def of_shares(cls, table: ShareTable, threshold: int, k: int) -> "Demand":
        """Return the shares at a threshold as a demand."""
        amounts = shares(table, threshold)
        if amounts is None:
            raise AssertionError("some node does not fit at a threshold that is not refuted")
        return cls.of(amounts, k)

    @classmethod
    def of_work(cls, graph: PipelineGraph, k: int) -> "Demand":
        """Return the work, as shares of the mean work, rounded down ([MTPP24], Lemma 3.3)."""
        total = max(1, int(graph.work.sum()))
        scaled = graph.work.astype(object) * (k * SHARE_UNITS) // total
        return cls.of(scaled.astype(np.int64), k)


@dataclass(frozen=True, eq=False)
class PrefixWeights:
    """The weight of superblocks 0 to b together, for each b but the last.

    Attributes
    ----------
    weights
        Of each node, in units of 1 / SHARE_UNITS, shape (n,).
    at_least, at_most
        Bounds in the same unit, shape (K - 1,).
    """

    weights: IntArray
    at_least: IntArray
    at_most: IntArray


@dataclass(frozen=True, eq=False)
class Superblocks:
    """The superblocks of a program.

    Attributes
    ----------
    merged
        How many stages each superblock stands for, at most, shape (K,).
    is_costed
        Whether the program has the rows of a superblock, shape (K,). They hold in any case.
    demand
        If not None, the middle one of three superblocks has its `least`.
    prefixes
        If not None, what the superblocks weigh together up to each one.
    """

    merged: IntArray
    is_costed: npt.NDArray[np.bool_]
    demand: Demand | None = None
    prefixes: PrefixWeights | None = None


def single_stages(k: int) -> Superblocks:
    """Return the superblocks of the exact program."""
    return Superblocks(np.ones(k, dtype=np.int64), np.ones(k, dtype=np.bool_))


def around_any(k: int, demand: Demand) -> Superblocks:
    """Return the superblocks around one stage at any position."""
    return Superblocks(np.array([k - 1, 1, k - 1]), np.arange(3) == MIDDLE, demand)


def around(stage: int, k: int, demand: Demand) -> Superblocks:
    """Return the superblocks around one stage at a given position."""
    merged = np.array([stage, 1, k - 1 - stage])
    return Superblocks(merged, merged > 0, demand)


def merged_windows(windows: Windows, stage: int) -> Windows:
    """Return the windows of superblocks around a stage."""
    first, last = (
        (side >= stage).astype(np.int64) + (side > stage) for side in (windows.first, windows.last)
    )
    return Windows(first, last)
