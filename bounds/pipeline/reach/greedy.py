"""Partitions built stage by stage: each stage the best that the threshold allows.

It is the step of `attempt` with the prefix before the stage given, instead of any that weighs no
more. The best stage has much work; tensors that the stages to come have to read are charged to it.
Nothing is proved: a threshold for which this fails may still be met.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from boundmark.bounds.pipeline.reach.attempt import Context
from boundmark.bounds.pipeline.reach.prefixes import Side, scaled
from boundmark.bounds.pipeline.reach.search import Program, Search, StageLimits
from boundmark.bounds.pipeline.tree.superblocks import MIDDLE, PrefixWeights, Superblocks
from boundmark.bounds.pipeline.windows import SHARE_UNITS, Windows
from boundmark.problems.arrays import frozen
from boundmark.problems.pipeline import Partition
from boundmark.problems.pipeline.instance import stage_costs

Nodes = npt.NDArray[np.bool_]


@dataclass(eq=False)
class Greedy:
    """Builder of partitions at a threshold.

    Attributes
    ----------
    side
        ``"upper"`` begins with the first stage, ``"lower"`` with the last one.
    price
        Of the transfer of tensors between a stage with those before, and the rest.
    branchings
        For each stage, at most.
    is_cut_off
        Whether some stage might have been better after more of them.
    """

    context: Context
    threshold: int
    side: Side
    price: float
    branchings: int
    is_cut_off: bool = False

    def partition(self) -> Partition | None:
        """Return a partition whose stages, but maybe the last, cost at most the threshold.

        The last stage that is built takes what is left. It may cost more, and still less than the
        bottleneck stage of other partitions.

        Raises
        ------
        OutOfTimeError
            If the budget ends first.
        """
        instance = self.context.instance
        k = instance.k
        stages = np.full(instance.nodes, -1, dtype=np.int64)
        for done in range(k - 1):
            rest = stages < 0
            if not rest.any():
                break
            if int(instance.graph.work[rest].sum()) > (k - done) * self.threshold:
                return None
            found = self._stage(rest, k - done)
            if found is None:
                return None
            stages[found] = done if self.side == "upper" else k - 1 - done
        stages[stages < 0] = k - 1 if self.side == "upper" else 0
        return Partition(frozen(stages))

    def _stage(self, rest: Nodes, left: int) -> Nodes | None:
        """Return the next stage, a subset of the nodes that are left."""
        is_upper = self.side == "upper"
        search = self._search(rest, left)
        inner = MIDDLE if is_upper else MIDDLE - 1
        best, best_value = None, -np.inf
        for _ in range(self.branchings + 1):
            leaf = search.worst
            if leaf is None or leaf.point is None or leaf.point.y is None:
                break
            for inside in _rounded(leaf.point.y[:, inner]):
                stage = rest & (inside if is_upper else ~inside)
                value = self._value(stage, rest)
                if value > best_value and self._fits(stage):
                    best, best_value = stage, value
            work = self.context.instance.graph.work
            done = int(work[~rest if is_upper else rest].sum()) / self.threshold
            most = -search.optimum - done if is_upper else done - search.optimum
            if most - best_value < self.context.settings.stage_precision or not search.grow():
                break
        else:
            self.is_cut_off = True
        return best

    def _search(self, rest: Nodes, left: int) -> Search:
        instance, closure, budget, threshold = (
            *(self.context.instance, self.context.closure, self.context.budget),
            max(self.threshold, 1),
        )
        weights = scaled(instance.graph.work, threshold)
        is_upper = self.side == "upper"
        weights_to = closure.weights_before if is_upper else closure.weights_after
        is_far = weights_to(np.where(rest, weights, 0)) > SHARE_UNITS
        if is_upper:
            windows = Windows(np.where(rest, 1 + is_far, 0), np.where(rest, 2, 0))
        else:
            windows = Windows(np.where(rest, 0, 2), np.where(rest, 1 - is_far, 2))
        anything = PrefixWeights(weights, np.array([0, 0]), np.array([2**62, 2**62]))
        others = max(1, left - 1)
        merged = np.array([1, 1, others] if is_upper else [others, 1, 1])
        is_costed = np.arange(3) == MIDDLE
        if self.price:
            # Its tensors count as those between the stage and the rest, and its costs are limited.
            is_costed[-1 if is_upper else 0] = True
        program = Program(
            StageLimits(instance.graph, weights, threshold),
            Superblocks(merged, is_costed, prefixes=anything),
            windows,
            self.side,
            budget.threads,
            self.price,
        )
        return Search(instance.graph, closure, program, windows, budget)

    def _value(self, stage: Nodes, rest: Nodes) -> float:
        graph = self.context.instance.graph
        dag, other = graph.dag, rest & ~stage
        if self.side == "upper":
            cut = np.unique(dag.sources[other[dag.targets] & ~other[dag.sources]])
        else:
            cut = np.unique(dag.sources[other[dag.sources] & ~other[dag.targets]])
        charged = self.price * int(graph.transfer[cut].sum())
        return (int(graph.work[stage].sum()) - charged) / max(self.threshold, 1)

    def _fits(self, stage: Nodes) -> bool:
        costs = stage_costs(self.context.instance.graph, stage.astype(np.int64), 2)
        return int(costs[1]) <= self.threshold


def _rounded(values: npt.NDArray[np.float64]) -> Iterator[Nodes]:
    """Yield down-sets rounded from values, at several thresholds."""
    for value in np.unique(values.round(6))[::-1]:
        if value > 0:
            yield values >= value - 1e-6
