"""Partitions improved by dividing pairs of stages anew, each by minimum cuts.

Where stages have dozens of nodes or more, moves of nodes one by one rarely get from one good
boundary between two stages to the next: a layer's chain lies between them. A minimum cut does, see
`pair_cut_kernels`. From any partition, pairs are divided until none gets better. Between sweeps
over all pairs, an order that follows the cuts is segmented, which balances all stages at once. Such
a descent takes as long as segmenting dozens of orders, so the search is one of descents from many
starts. What precedes a boundary in any of them is kept, and combined with others, see
`prefix_pool`.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.heuristics.pipeline.annealing import RoundBest
from boundmark.heuristics.pipeline.effort import Effort
from boundmark.heuristics.pipeline.kernel_graph import Graph, kernel_graph
from boundmark.heuristics.pipeline.orders import (
    noisy_fewest_open_order,
    noisy_order,
    noisy_own_order,
)
from boundmark.heuristics.pipeline.pair_cut_kernels import WEIGHTS, divide_pair
from boundmark.heuristics.pipeline.prefix_pool import PrefixPool, PrefixPoolSettings
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance


@dataclass(frozen=True)
class PairCutSettings:
    """Settings of descents by pair cuts.

    Chosen on bert-base-training, gpt-2-training and, with seed 1, nasnet-small and nasnet-mobile.

    Attributes
    ----------
    corridors
        Parts of the work of two neighbouring stages, next to their boundary, that may move between
        them; tried one after the other. Of stages that are no neighbours, all nodes may move but
        those that a stage between them reads or is read by.
    cuts
        Minimum cuts for a pair and a corridor, at most.
    noise
        Numbers of stages that the noise of a start near the best partition spans; one is drawn.
    largest_pair
        Largest number of nodes in a pair: the clock is not looked at during a cut.
    most_flow
        Largest flow in a network, in units of a cost.
    evaluations_per_pass
        As many nodes in divided pairs as the graph has count as so many evaluations: they take as
        long as the moves that these stand for.
    prefixes
        Settings of the pool of prefixes.
    """

    corridors: tuple[float, ...] = (0.8, 0.4, 0.15)
    cuts: int = 6
    noise: tuple[float, ...] = (1.5, 2.0, 3.0, 4.0)
    largest_pair: int = 20_000
    most_flow: int = 2**58
    evaluations_per_pass: int = 8
    prefixes: PrefixPoolSettings = field(default_factory=PrefixPoolSettings)


DEFAULTS = PairCutSettings()


class CutSearch:
    """Descents from many starts; it can be interrupted and continued.

    Attributes
    ----------
    found
        The best partition of all descents. `best` may know a better one from elsewhere.
    pool
        The prefixes of their partitions.
    ended
        Number of descents that have ended.
    """

    def __init__(
        self,
        instance: PipelineInstance,
        best: Incumbent[Partition],
        orders: Sequence[IntArray],
        generator: np.random.Generator,
        settings: PairCutSettings = DEFAULTS,
    ) -> None:
        self._instance, self._best, self._settings = instance, best, settings
        self._graph = kernel_graph(instance.graph)
        self._generator = generator
        self._orders = self._starts(orders)
        self.ended = 0
        # Where a descent goes on for which there was not enough effort.
        self._unfinished: IntArray | None = None
        self.pool = PrefixPool(instance, self._graph, settings.prefixes)
        self.found = RoundBest(NO_COST, frozen(np.zeros(instance.nodes)))

    def run(self, budget: Budget, evaluations: int | None) -> None:
        """Descend from one start after the other until the effort is spent.

        A descent for which it was not enough goes on in the next run.

        Parameters
        ----------
        evaluations
            Orders segmented, and nodes of divided pairs by `evaluations_per_pass`.
        """
        effort = Effort(budget, evaluations)
        while self._best.cost > 0 and not effort.is_spent():
            unfinished, self._unfinished = self._unfinished, None
            self._descend_from(next(self._orders) if unfinished is None else unfinished, effort)
            if not self.pool.has_grown():
                continue
            stages = self.pool.best_partition(self.found.cost, effort)
            if stages is not None:
                self._keep(self._instance.objective(Partition(frozen(stages))), stages)
                order = noisy_order(self._instance, stages, 0.0, self._generator)
                self._descend_from(order, effort)

    def _descend_from(self, order: IntArray, effort: Effort) -> None:
        """Descend from the best segmentation of an order."""
        if effort.take(1):
            cost, ends = segment_order(self._instance, order)
            self._keep(cost, Partition.from_segments(order, ends).stages)
            self._descend(order, ends, cost, effort)

    def _starts(self, orders: Sequence[IntArray]) -> Iterator[IntArray]:
        """Yield the given orders, then noisy ones of three kinds in turn."""
        yield from orders
        instance, generator = self._instance, self._generator
        while True:
            yield noisy_fewest_open_order(instance.graph, generator.random(), generator)
            yield self._near_best()
            yield noisy_own_order(instance.graph.dag, generator.random() / 2, generator)
            yield self._near_best()

    def _near_best(self) -> IntArray:
        noise = float(self._generator.choice(self._settings.noise))
        return noisy_order(self._instance, self.found.stages, noise, self._generator)

    def _keep(self, cost: int, stages: IntArray) -> None:
        """Keep a partition if it is better than all before, and offer it."""
        if cost < self.found.cost:
            self.found = RoundBest(cost, frozen(stages))
            self._best.offer(cost, partial(Partition, frozen(stages)))

    def _descend(self, order: IntArray, ends: IntArray, cost: int, effort: Effort) -> None:
        """Improve a segmentation until neither pairs nor another order improve it."""
        instance = self._instance
        descent = _Descent(self._graph, min(instance.k, instance.nodes), self._settings)
        stages = np.array(Partition.from_segments(order, ends).stages)
        while True:
            before = cost
            is_whole = descent.sweep(stages, order, effort)
            cost = instance.objective(Partition(frozen(stages)))
            self._keep(cost, stages)
            self.pool.add(stages)
            if not is_whole or not effort.take(1):
                self._unfinished = noisy_order(instance, stages, 0.0, self._generator)
                return
            places = descent.places(stages, order, effort).astype(np.float64)
            places[order] += np.arange(instance.nodes) / (2 * instance.nodes)
            order = topological_order(instance.graph.dag, -places)
            again, ends = segment_order(instance, order)
            if again <= cost:
                cost = again
                found = np.array(Partition.from_segments(order, ends).stages)
                descent.note_changes(stages, found)
                stages = found
                self._keep(cost, stages)
            if cost >= before:
                self.ended += 1
                return


class _Descent:
    """What a descent knows of its pairs of stages.

    Parameters
    ----------
    stages
        Number of stages.
    """

    def __init__(self, graph: Graph, stages: int, settings: PairCutSettings) -> None:
        self._graph, self._stages, self._settings = graph, stages, settings
        self._clock = 1
        self._changed = [1] * stages
        self._divided: dict[tuple[int, int], int] = {}
        most = int(graph.work.sum() + graph.param_load.sum() + 2 * graph.transfer.sum())
        self._unit = 1 + most * WEIGHTS // settings.most_flow
        self._ranked: dict[int, tuple[int, IntArray]] = {}
        self._pending = 0
        self._corridors, self._whole = np.array(settings.corridors, float), np.ones(1)

    def sweep(self, stages: IntArray, order: IntArray, effort: Effort) -> bool:
        """Divide all pairs in which something has changed; return False if the effort is spent.

        Parameters
        ----------
        order
            The nodes in a topological order.
        """
        count = self._stages
        sizes = np.bincount(stages, minlength=count)
        for gap, first in itertools.product(range(1, count), range(count - 1)):
            last = first + gap
            changed = max(self._changed[first], self._changed[min(last, count - 1)])
            if last >= count or self._divided.get((first, last), 0) >= changed:
                continue
            if effort.is_spent():
                return False
            if sizes[first] + sizes[last] > self._settings.largest_pair:
                continue
            moved, times_first = self._divide(stages, first, last, order)
            self._count(gap, int(sizes[first] + sizes[last]), effort)
            self._clock += 1
            self._divided[first, last] = self._clock
            if moved:
                self._changed[first] = self._changed[last] = self._clock
                sizes = np.bincount(stages, minlength=count)
            elif gap == 1:
                self._ranked[first] = self._clock, times_first
        return True

    def _divide(
        self, stages: IntArray, first: int, last: int, order: IntArray
    ) -> tuple[int, IntArray]:
        """Divide a pair; return how many nodes moved, and how many cuts had each in the first."""
        times_first = np.zeros(len(stages), np.int64)
        corridors = self._corridors if last == first + 1 else self._whole
        moved = divide_pair(
            *(self._graph, stages, first, last, order),
            *(corridors, self._settings.cuts, self._unit, times_first),
        )
        return int(moved), times_first

    def places(self, stages: IntArray, order: IntArray, effort: Effort) -> IntArray:
        """Return numbers by which nodes follow one another: stages, and within them cuts.

        The more cuts between a stage and the next one, or the one before, have a node in the
        earlier of the two, the earlier it comes.
        """
        most = self._settings.cuts * len(self._settings.corridors)
        places: IntArray = 4 * most * stages
        sizes = np.bincount(stages, minlength=self._stages)
        for first in range(self._stages - 1):
            size = int(sizes[first] + sizes[first + 1])
            if size > self._settings.largest_pair or effort.is_spent():
                continue
            changed = max(self._changed[first], self._changed[first + 1])
            if first not in self._ranked or self._ranked[first][0] < changed:
                _, times_first = self._divide(stages.copy(), first, first + 1, order)
                self._count(1, size, effort)
                self._ranked[first] = self._clock, times_first
            places -= self._ranked[first][1]
        return places

    def _count(self, gap: int, size: int, effort: Effort) -> None:
        """Count the nodes of a divided pair as evaluations, once for each corridor."""
        times = len(self._corridors if gap == 1 else self._whole)
        self._pending += self._settings.evaluations_per_pass * times * size
        effort.take(self._pending // len(self._graph.work))
        self._pending %= len(self._graph.work)

    def note_changes(self, before: IntArray, after: IntArray) -> None:
        """Note which stages differ between two partitions."""
        self._clock += 1
        differ = before != after
        for stage in np.unique([before[differ], after[differ]]).tolist():
            self._changed[stage] = self._clock
