"""One partition for several costs of a graph, as near to the bounds of all of them as possible.

The graph has costs of several devices, batch sizes or sources, and each has a reference, such as a
certified lower bound. The largest ratio of a partition's cost to the reference is minimised.

Partitions come from the best ones of each costs alone, and from searches in weighted sums of all
costs, in which costs that are behind get more weight from round to round. That is not enough: a
weighted sum adds up stages that are slow in different costs. So the order behind each partition is
cut again with the largest ratio as the objective, which is exact for that order, as are orders
around the best partition. Last, single nodes are moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.compiling import compiled
from boundmark.heuristics.pipeline import memetic
from boundmark.heuristics.pipeline.even_cuts import run_balanced_work
from boundmark.heuristics.pipeline.kernel_graph import kernel_graph
from boundmark.heuristics.pipeline.orders import NOISES, fewest_open_order, noisy_order
from boundmark.heuristics.pipeline.segmentation_kernels import segments_of
from boundmark.heuristics.pipeline.slicegraph import has_segmentation
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance
from boundmark.problems.pipeline.graph import PipelineGraph
from boundmark.problems.pipeline.instance import in_pipeline_order, stage_costs
from boundmark.problems.problem import Solution


@dataclass(frozen=True)
class SeveralCostsSettings:
    """Settings of the search.

    Attributes
    ----------
    rounds
        Number of weightings that `memetic` searches.
    evaluations
        Evaluations of `memetic` in each.
    patience
        Orders per node that are cut without improvement before the search ends.
    """

    rounds: int = 6
    evaluations: int = 1500
    patience: int = 5


DEFAULTS = SeveralCostsSettings()

# Largest fraction of the time for weighted sums.
WEIGHTED_SHARE = 0.5

_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]


@compiled([_ROW(_TABLE, _ROW, _ROW, _TABLE, _TABLE, _ROW, types.float64[::1], types.int64)])
def best_ends(
    gain_before: IntArray,
    event_start: IntArray,
    event_bound: IntArray,
    event_amount: IntArray,
    load_before: IntArray,
    cache: IntArray,
    scales: npt.NDArray[np.float64],
    k: int,
) -> IntArray:
    """Cut an order into at most k stages whose largest scaled cost in any costs is least.

    Time O(n^2 (c + k)) for c costs, memory O(n (c + k)).

    Parameters
    ----------
    gain_before, event_start, event_bound, event_amount, load_before, cache
        As in `segmentation_kernels.Segments`, with a row or an entry for each costs where they
        differ.
    scales
        What the costs are multiplied with, shape (c,).

    Returns
    -------
    The position after the last node of each stage, ascending.
    """
    count, nodes = gain_before.shape[0], gain_before.shape[1] - 1
    rows = np.zeros((count, nodes), np.int64)
    ratio = np.empty(nodes, np.float64)
    least = np.full((k + 1, nodes + 1), np.inf)
    begin = np.zeros((k + 1, nodes + 1), np.int64)
    least[0, 0] = 0.0
    for last in range(nodes):
        ratio[: last + 1] = 0.0
        for one in range(count):
            row = rows[one]
            row[last] = -gain_before[one, last]
            for event in range(event_start[last], event_start[last + 1]):
                amount = event_amount[one, event]
                for first in range(event_bound[event] + 1):
                    row[first] -= amount
            gain, room = gain_before[one, last + 1], load_before[one, last + 1] - cache[one]
            for first in range(last + 1):
                cost = row[first] + gain + max(0, room - load_before[one, first])
                ratio[first] = max(ratio[first], cost * scales[one])
        for stages in range(1, min(k, last + 1) + 1):
            before = least[stages - 1]
            best, best_first = np.inf, 0
            for first in range(last + 1):
                worst = max(before[first], ratio[first])
                if worst < best:
                    best, best_first = worst, first
            least[stages, last + 1], begin[stages, last + 1] = best, best_first
    stages = int(np.argmin(least[:, nodes]))
    ends = np.empty(stages, np.int64)
    end = nodes
    for stage in range(stages, 0, -1):
        ends[stage - 1] = end
        end = begin[stage, end]
    return ends


def best_cut(
    instances: Sequence[PipelineInstance], references: Sequence[int], order: IntArray
) -> Partition:
    """Cut a topological order into stages whose largest ratio of cost to reference is least.

    Parameters
    ----------
    instances
        One graph with several costs.
    references
        What the cost in each of them is compared with; at least 1.
    """
    parts = [segments_of(order, kernel_graph(one.graph)) for one in instances]
    ends = best_ends(
        np.stack([one.gain_before for one in parts]),
        parts[0].event_start,
        parts[0].event_bound,
        np.stack([one.event_amount for one in parts]),
        np.stack([one.load_before for one in parts]),
        np.array([one.cache for one in parts]),
        1.0 / np.array(references, np.float64),
        min(instances[0].k, len(order)),
    )
    return Partition.from_segments(order, ends)


class _Search:
    """Judges partitions by their largest ratio, and keeps and reports the best one.

    It receives what methods report about a weighted graph, as their progress.

    Attributes
    ----------
    instances, references
        The graph with each of its costs, and what these are compared with; at least 1.
    best, ratio
        The best partition, and its largest ratio of cost to reference.
    latest
        The partition that was judged last.
    """

    def __init__(
        self, instances: Sequence[PipelineInstance], references: Sequence[int], progress: Progress
    ) -> None:
        self.instances = instances
        self.references = [max(1, reference) for reference in references]
        self._progress = progress
        self.best = self.latest = Partition(frozen([0] * instances[0].nodes))
        self.ratio = max(self.ratios(self.best))
        progress.solution(self.best)

    def stage_ratios(self, partition: Partition) -> list[list[Fraction]]:
        """Return the ratio of each stage, for each costs."""
        return [
            [Fraction(cost, reference) for cost in costs.tolist()]
            for one, reference in zip(self.instances, self.references, strict=True)
            for costs in [stage_costs(one.graph, partition.stages, one.k)]
        ]

    def ratios(self, partition: Partition) -> list[Fraction]:
        """Return the ratio of cost to reference for each costs."""
        return [max(row) for row in self.stage_ratios(partition)]

    def offer(self, partition: Partition) -> Fraction:
        """Keep and report a partition if it is better than the best; return its largest ratio."""
        self.latest = partition
        ratio = max(self.ratios(partition))
        if ratio < self.ratio:
            self.ratio, self.best = ratio, partition
            self._progress.solution(partition)
        return ratio

    def solution(self, solution: Solution) -> None:
        """Judge what a method reports."""
        assert isinstance(solution, Partition)
        self.offer(solution)

    def bound(self, bound: Certificate | Claim) -> None:
        """Ignore bounds: they are about weighted costs."""

    def can_be_cut(self, order: IntArray) -> bool:
        """Whether, in each costs alone, some cut of an order is as good as the best partition."""
        return all(
            has_segmentation(one, order, int(self.ratio * reference))
            for one, reference in zip(self.instances, self.references, strict=True)
        )

    def cut(self, order: IntArray) -> Partition:
        """Return the best cut of an order."""
        return best_cut(self.instances, self.references, order)

    def cut_again(self, partition: Partition, generator: np.random.Generator) -> Partition:
        """Return a partition's nodes cut again, in an order in which its stages follow each other.

        It is at least as good.
        """
        first = self.instances[0]
        stages = in_pipeline_order(first, partition).stages
        return self.cut(noisy_order(first, stages, 1.0, generator))


def run(
    instances: Sequence[PipelineInstance],
    references: Sequence[int],
    starts: Sequence[Partition],
    budget: Budget,
    seed: int,
    progress: Progress,
    settings: SeveralCostsSettings = DEFAULTS,
) -> None:
    """Search until nothing better is found for a while, or the budget ends.

    What is found depends on the clock only if the budget ends.

    Parameters
    ----------
    instances
        One graph with several costs.
    references
        What the cost in each of them is compared with, such as a certified bound. The search ends
        with a partition that costs no more.
    starts
        Partitions to begin with.

    Raises
    ------
    InvalidInputError
        If nodes, edges or numbers of stages differ.
    """
    first, *others = instances
    for other in others:
        is_same = other.k == first.k and other.nodes == first.nodes
        if not is_same or not np.array_equal(other.dag.edge_pairs(), first.dag.edge_pairs()):
            raise InvalidInputError(
                "the graphs of several costs differ; expected the same nodes, edges and number of "
                "stages."
            )
    search, generator = _Search(instances, references, progress), np.random.default_rng(seed)
    for start in starts:
        search.offer(start)
        search.offer(search.cut_again(start, generator))
    for order in (first.dag.topological_order, *(fewest_open_order(i.graph) for i in instances)):
        search.offer(search.cut(order))
    _search_weighted(search, budget.part(WEIGHTED_SHARE), seed, generator, settings)
    while not (search.ratio <= 1 or budget.is_spent()):
        _cut_near_best(search, budget, generator, settings.patience)
        if not _move_node(search, budget):
            return


def _search_weighted(
    search: _Search,
    budget: Budget,
    seed: int,
    generator: np.random.Generator,
    settings: SeveralCostsSettings,
) -> None:
    """Search in weighted sums of the costs; those that are behind then get more weight.

    What the weight of the costs that are furthest behind gains on those that are furthest ahead is
    a step in the first round, in logarithms, and 1/r of that in round r.
    """
    step = 1.5
    weights = np.full(len(search.instances), 1 / len(search.instances))
    for number in range(settings.rounds):
        if search.ratio <= 1 or budget.is_spent():
            return
        weighted = _weighted(search, weights)
        run_balanced_work(weighted, budget, seed, search)
        share = budget.part(1 / (settings.rounds - number))
        memetic.run(weighted, share, seed + number, search, evaluations=settings.evaluations)
        found = search.latest
        search.offer(search.cut_again(found, generator))
        ratios = np.array(search.ratios(found), np.float64)
        behind = (ratios - ratios.min()) / max(np.ptp(ratios), np.finfo(float).tiny)
        weights *= np.exp(step / (1 + number) * behind)
        weights /= weights.sum()


def _weighted(search: _Search, weights: npt.NDArray[np.float64]) -> PipelineInstance:
    """Return the graph with a weighted sum of its costs, each in units of its reference."""
    # All costs together, about; they are rounded to integers.
    total = 2**45
    graphs = [one.graph for one in search.instances]
    factors = weights / np.array(search.references, np.float64)
    sums = [
        float(one.work.sum()) + float(one.transfer.sum()) + float(one.param_load.sum()) + one.cache
        for one in graphs
    ]
    factors *= total / max(1.0, float(factors @ np.array(sums)))

    def added(name: str) -> IntArray:
        return frozen(
            np.rint(sum(f * getattr(g, name) for f, g in zip(factors, graphs, strict=True)))
        )

    first = graphs[0]
    graph = PipelineGraph(
        first.dag, added("work"), added("transfer"), added("param_load"), int(added("cache")),
        first.names,
    )  # fmt: skip
    return replace(search.instances[0], graph=graph)


def _cut_near_best(
    search: _Search, budget: Budget, generator: np.random.Generator, patience: int
) -> None:
    """Cut orders around the best partition until none has been better for a while.

    A partition that is as good replaces the current one, so that the search drifts.
    """
    first, idle = search.instances[0], 0
    stages = in_pipeline_order(first, search.best).stages
    while idle < patience * first.nodes:
        if search.ratio <= 1 or budget.is_spent():
            return
        idle += 1
        order = noisy_order(first, stages, generator.choice(NOISES), generator)
        if search.can_be_cut(order):
            found, before = search.cut(order), search.ratio
            ratio = search.offer(found)
            if ratio <= before:
                stages = found.stages
            if ratio < before:
                idle = 0


def _move_node(search: _Search, budget: Budget) -> bool:
    """Move a node into or out of the stage with the largest ratio; return whether that is better.

    No other move changes the cost of that stage.
    """
    first = search.instances[0]
    before, stages = search.ratio, in_pipeline_order(first, search.best).stages
    rows = search.stage_ratios(Partition(stages))
    worst = max(range(first.k), key=lambda stage: max(row[stage] for row in rows))
    for node, stage in enumerate(stages.tolist()):
        if budget.is_spent():
            return False
        least = int(max(stages[first.dag.producers_of(node)], default=0))
        most = int(min(stages[first.dag.consumers_of(node)], default=first.k - 1))
        near = {least, stage - 1, stage + 1, most} if stage == worst else {worst}
        for target in sorted(near - {stage}):
            if least <= target <= most:
                moved = stages.copy()
                moved[node] = target
                if search.offer(Partition(frozen(moved))) < before:
                    return True
    return False
