"""Partitions stage by stage: each one the heaviest that the threshold allows, after those before.

It is the step of `attempt` with the prefix before the stage given, instead of any that weighs no
more. Nothing is proved: a threshold for which this fails may still be met.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.reach.attempt import Setting
from boundmark.bounds.pipeline.reach.prefixes import Side
from boundmark.bounds.pipeline.reach.program import Program
from boundmark.bounds.pipeline.reach.search import Search
from boundmark.bounds.pipeline.shares.windows import SHARE_UNITS, Windows
from boundmark.bounds.pipeline.tree.superblocks import MIDDLE, PrefixWeights, Superblocks
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.pipeline import Partition
from boundmark.problems.pipeline.objective import stage_costs

Nodes = npt.NDArray[np.bool_]

# By how much a stage found may be lighter than the heaviest one, in stages.
PRECISION = 1e-4


@dataclass(frozen=True, eq=False)
class Greedy:
    """Builds partitions at a threshold.

    Attributes
    ----------
    amounts
        The nodes' shares of a stage at the threshold.
    side
        ``"upper"`` begins with the first stage, ``"lower"`` with the last one.
    branchings
        For each stage, at most.
    """

    setting: Setting
    threshold: int
    amounts: IntArray
    side: Side
    branchings: int

    def partition(self) -> Partition | None:
        """Return a partition whose stages cost at most the threshold, or None.

        Raises
        ------
        OutOfTimeError
            If the budget ends first.
        """
        instance = self.setting.instance
        k = instance.k
        stages = np.full(instance.nodes, -1, dtype=np.int64)
        order = range(k) if self.side == "upper" else range(k - 1, -1, -1)
        for left, stage in zip(range(k, 0, -1), order, strict=False):
            rest = stages < 0
            if not rest.any():
                break
            if int(self.amounts[rest].sum()) > left * SHARE_UNITS:
                return None
            found = self._stage(rest)
            if found is None:
                return None
            stages[found] = stage
        return None if (stages < 0).any() else Partition(frozen(stages))

    def _stage(self, rest: Nodes) -> Nodes | None:
        """Return the next stage, out of the nodes that are left."""
        instance, closure, budget = (
            self.setting.instance, self.setting.closure, self.setting.budget
        )  # fmt: skip
        graph, is_upper = instance.graph, self.side == "upper"
        depends = closure.before if is_upper else closure.before.T
        is_far = depends @ np.where(rest, self.amounts, 0) > SHARE_UNITS
        if is_upper:
            first = np.where(rest, 1 + is_far, 0)
            last = np.where(rest, 2, 0)
        else:
            first = np.where(rest, 0, 2)
            last = np.where(rest, 1 - is_far, 2)
        windows = Windows(first, last)
        anything = np.array([0, 0]), np.array([2**62, 2**62])
        superblocks = Superblocks(
            np.array([1, 1, 1]),
            np.arange(3) == MIDDLE,
            prefixes=PrefixWeights(self.amounts, *anything),
        )
        program = Program(
            graph, superblocks, windows, self.amounts, self.threshold, self.side, budget.threads
        )
        search = Search(graph, closure, program, windows, budget)
        best, best_weight = None, 0
        block = MIDDLE if is_upper else MIDDLE - 1
        for _ in range(self.branchings + 1):
            leaf = search.worst
            if leaf is None or leaf.point is None or leaf.point.y is None:
                break
            for inside in _rounded(leaf.point.y[:, block]):
                stage = inside & rest if is_upper else ~inside & rest
                weight = int(self.amounts[stage].sum())
                if weight > best_weight and self._fits(stage):
                    best, best_weight = stage, weight
            base = int(self.amounts[~rest].sum()) if is_upper else int(self.amounts[rest].sum())
            most = -search.optimum * SHARE_UNITS - base if is_upper else base - search.optimum * SHARE_UNITS
            if most - best_weight < PRECISION * SHARE_UNITS or not search.grow():
                break
        return best

    def _fits(self, stage: Nodes) -> bool:
        costs = stage_costs(self.setting.instance.graph, stage.astype(np.int64), 2)
        return int(costs[1]) <= self.threshold


def _rounded(values: npt.NDArray[np.float64]) -> Iterator[Nodes]:
    """Yield the down-sets of nodes whose value is not below some of the values."""
    for value in np.unique(values.round(6))[::-1]:
        if value > 0:
            yield values >= value - 1e-6
