"""Partitions improved by dividing pairs of stages anew, each by minimum cuts.

Where stages have dozens of nodes or more, moves of nodes one by one rarely get from one good
boundary between two stages to the next: a layer's chain lies between them. A minimum cut does, see
`pair_cut_kernels`. From any partition, pairs are divided until none gets better. Between sweeps
over all pairs, an order that follows the cuts is segmented, which balances all stages at once. Such
a descent takes as long as segmenting dozens of orders, so the search is one of descents from many
starts. What precedes a boundary in any of them is kept, and combined with others.

A prefix is all nodes before a boundary between two stages: a down-set of the graph. A partition
into k stages is a chain of nested prefixes, and a stage's cost depends on the two next to it alone.
So the best chain among thousands of prefixes is a dynamic program over pairs of these, as over all
down-sets in `ideal-dp`. It combines the good stages of partitions that each have a bad one, and is
the more useful the more stages there are.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.effort import Effort
from boundmark.heuristics.incumbent import NO_COST, Incumbent
from boundmark.heuristics.pipeline.annealing import RoundBest
from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph, kernel_graph
from boundmark.heuristics.pipeline.orders import (
    noisy_fewest_open_order,
    noisy_order,
    noisy_own_order,
)
from boundmark.heuristics.pipeline.pair_cut_kernels import WEIGHTS, divide_pair
from boundmark.heuristics.pipeline.slicegraph import segment_order
from boundmark.heuristics.priority_order import topological_order
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition, PipelineInstance

Words = npt.NDArray[np.uint64]

_INT = types.int64
_ROW = types.int64[::1]
_MATRIX = types.int64[:, ::1]
_WORDS = types.uint64[::1]
_WORD_ROWS = types.uint64[:, ::1]


@dataclass(frozen=True)
class PairCutSettings:
    """Limits of descents by pair cuts, and of the pool of their prefixes.

    Attributes
    ----------
    largest_pair
        Largest number of nodes in a pair: the clock is not looked at during a cut.
    growth
        The best chain is looked for again once the pool has grown by this factor.
    most_prefixes, most_bits
        Most prefixes that a pool keeps, and most bits of all together, one for each prefix and
        node. A full pool forgets the half that it has not met for the longest time.
    """

    largest_pair: int = 20_000
    growth: float = 1.3
    most_prefixes: int = 20_000
    most_bits: int = 2**28


DEFAULTS = PairCutSettings()


class PrefixPool:
    """Distinct prefixes of partitions, without the empty one and that of all nodes."""

    def __init__(
        self, instance: PipelineInstance, graph: Graph, settings: PairCutSettings = DEFAULTS
    ) -> None:
        self._nodes, self._k = instance.nodes, min(instance.k, instance.nodes)
        self._graph, self._settings = graph, settings
        self._most = min(settings.most_prefixes, max(2, settings.most_bits // instance.nodes))
        # The work and the number of nodes of each; what was met last comes last.
        self._known: dict[bytes, tuple[int, int]] = {}
        self._combined = 0

    def __len__(self) -> int:
        """Return the number of prefixes."""
        return len(self._known)

    def add(self, stages: IntArray) -> None:
        """Add the prefixes of a partition, shape (n,)."""
        for boundary in range(1, self._k):
            inside = stages < boundary
            count = int(np.count_nonzero(inside))
            if 0 < count < self._nodes:
                key = _bits(inside).tobytes()
                weight = self._known.pop(key, None) or (int(self._graph.work[inside].sum()), count)
                self._known[key] = weight
        if len(self._known) > self._most:
            self._known = dict(list(self._known.items())[-(self._most // 2) :])
            self._combined = min(self._combined, len(self._known))

    def has_grown(self) -> bool:
        """Whether there are enough new prefixes to look for the best chain again."""
        return len(self) > self._settings.growth * self._combined

    def best_partition(self, below: int, effort: Effort) -> IntArray | None:
        """Return the best partition whose boundaries are all in the pool, if it is good enough.

        Parameters
        ----------
        below
            The cost to stay below.
        effort
            k stages whose costs are computed count as one evaluation.

        Returns
        -------
        Stages, shape (n,), or None if there is none below that cost, or the effort is spent first.
        """
        self._combined = len(self)
        rows = sorted((*weight, key) for key, weight in self._known.items())
        everything = np.ones(self._nodes, np.bool_)
        bits = np.stack(
            [
                np.zeros(self._words, np.uint64),
                *(np.frombuffer(key, np.uint64) for *_, key in rows),
                _bits(everything),
            ]
        )
        work = np.array([0, *(weight for weight, *_ in rows), self._graph.work.sum()], np.int64)
        chains = np.full((2, len(bits), self._k + 1), NO_COST, np.int64)
        least, before = chains
        least[0, 0] = 0
        # Prefixes from which chains are continued between two looks at the clock.
        step = 64
        for first in range(0, len(bits) - 1, step):
            if effort.is_spent():
                return None
            end = min(first + step, len(bits) - 1)
            costs = _continue_chains(self._graph, bits, work, below, first, end, least, before)
            effort.take(-(-int(costs) // self._k))
        stages = int(least[-1].argmin())
        if least[-1, stages] >= below:
            return None
        return self._partition(bits, before, stages)

    @property
    def _words(self) -> int:
        return -(-self._nodes // 64)

    def _partition(self, bits: Words, before: IntArray, stages: int) -> IntArray:
        """Return the partition that a chain of the last row stands for."""
        found = np.zeros(self._nodes, np.int64)
        row = len(bits) - 1
        for stage in range(stages - 1, -1, -1):
            following, row = row, int(before[row, stage + 1])
            inside = (bits[following] & ~bits[row]).view(np.uint8)
            found[np.unpackbits(inside, count=self._nodes, bitorder="little") > 0] = stage
        return found


def _bits(inside: npt.NDArray[np.bool_]) -> Words:
    """Return a set of nodes as bits, the first node's being the lowest of the first word."""
    packed = np.zeros(8 * -(-len(inside) // 64), np.uint8)
    packed[: -(-len(inside) // 8)] = np.packbits(inside, bitorder="little")
    return packed.view(np.uint64)


@internal([_INT(GRAPH, _WORDS, _WORDS, _INT, _INT, _MATRIX)])
def _stage_cost(
    graph: Graph, outer: Words, inner: Words, below: int, mark: int, marks: IntArray
) -> int:
    """Return the cost of the nodes of one prefix without another one, if it is below a limit.

    Parameters
    ----------
    mark
        A number that is not yet in `marks`, which has a row for nodes of the stage and one for
        those whose tensors enter it.
    """
    cost = load = 0
    for word in range(len(outer)):
        rest = outer[word] & ~inner[word]
        node = 64 * word
        while rest:
            if rest & np.uint64(1):
                marks[0, node] = mark
                cost += graph.work[node]
                load += graph.param_load[node]
            rest >>= np.uint64(1)
            node += 1
    cost += max(0, load - graph.cache)
    for word in range(len(outer)):
        rest = outer[word] & ~inner[word]
        node = 64 * word
        while rest and cost < below:
            if rest & np.uint64(1):
                for edge in range(graph.consumer_start[node], graph.consumer_start[node + 1]):
                    if marks[0, graph.consumers[edge]] != mark:
                        cost += graph.transfer[node]
                        break
                for edge in range(graph.producer_start[node], graph.producer_start[node + 1]):
                    producer = graph.producers[edge]
                    if marks[0, producer] != mark and marks[1, producer] != mark:
                        marks[1, producer] = mark
                        cost += graph.transfer[producer]
            rest >>= np.uint64(1)
            node += 1
    return cost


@compiled([_INT(GRAPH, _WORD_ROWS, _ROW, _INT, _INT, _INT, _MATRIX, _MATRIX)])
def _continue_chains(
    graph: Graph,
    bits: Words,
    work: IntArray,
    below: int,
    first: int,
    end: int,
    least: IntArray,
    before: IntArray,
) -> int:
    """Continue all chains that end in some rows by one stage; return how many costs that took.

    Parameters
    ----------
    bits, work
        Prefixes with their work, sorted by it; the last one has all nodes.
    below
        The cost to stay below.
    first, end
        The rows, without `end`.
    least, before
        For each prefix and number of stages, shape (rows, k + 1): the least cost of the bottleneck
        stage of a chain, and where the last stage begins. Updated.
    """
    last, most = len(bits) - 1, least.shape[1] - 1
    costs = 0
    marks = np.zeros((2, len(graph.work)), np.int64)
    for row in range(first, end):
        shortest = most
        for stages in range(most - 1, -1, -1):
            if least[row, stages] < below:
                shortest = stages
        for other in range(row + 1, last + 1):
            added = work[other] - work[row]
            if added >= below:
                break
            # What is left takes more stages than these.
            left = (work[last] - work[other]) // below
            is_better = False
            for stages in range(shortest, most):
                if other < last and left >= most - stages - 1:
                    break
                is_better |= max(least[row, stages], added) < least[other, stages + 1]
            if not is_better:
                continue
            is_nested = True
            for word in range(bits.shape[1]):
                is_nested &= bits[row, word] & ~bits[other, word] == 0
            if not is_nested:
                continue
            costs += 1
            cost = _stage_cost(graph, bits[other], bits[row], below, costs, marks)
            if cost >= below:
                continue
            for stages in range(shortest, most):
                whole = max(least[row, stages], cost)
                if whole < least[other, stages + 1]:
                    least[other, stages + 1] = whole
                    before[other, stages + 1] = row
    return costs


# Parts of the work of two neighbouring stages, next to their boundary, that may move between them;
# tried one after the other. Of stages that are no neighbours, all nodes may move but those that a
# stage between them reads or is read by. Like the other numbers here, chosen on bert-base-training,
# gpt-2-training and, with seed 1, nasnet-small and nasnet-mobile.
CORRIDORS = (0.8, 0.4, 0.15)

# Minimum cuts for a pair and a corridor, at most.
CUTS = 6


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
        self.pool = PrefixPool(instance, self._graph, settings)
        self.found = RoundBest(NO_COST, frozen(np.zeros(instance.nodes)))

    def run(self, budget: Budget, evaluations: int | None, descents: int | None = None) -> None:
        """Descend from one start after the other until the effort is spent.

        A descent for which it was not enough goes on in the next run.

        Parameters
        ----------
        evaluations
            Orders segmented, and nodes of divided pairs, see `_Descent`.
        descents
            The search also ends after so many, if given.
        """
        effort = Effort(budget, evaluations)
        while self._best.cost > 0 and not effort.is_spent():
            if descents is not None and self.ended >= descents:
                return
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
        # Numbers of stages that the noise spans.
        noise = float(self._generator.choice((1.5, 2.0, 3.0, 4.0)))
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
        self._graph, self._stages = graph, stages
        self._largest_pair = settings.largest_pair
        self._clock = 1
        self._changed = [1] * stages
        self._divided: dict[tuple[int, int], int] = {}
        most = int(graph.work.sum() + graph.param_load.sum() + 2 * graph.transfer.sum())
        # The largest flow in a network, in units of a cost.
        most_flow = 2**58
        self._unit = 1 + most * WEIGHTS // most_flow
        self._ranked: dict[int, tuple[int, IntArray]] = {}
        self._pending = 0
        self._corridors, self._whole = np.array(CORRIDORS, float), np.ones(1)

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
            if sizes[first] + sizes[last] > self._largest_pair:
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
            *(corridors, CUTS, self._unit, times_first),
        )
        return int(moved), times_first

    def places(self, stages: IntArray, order: IntArray, effort: Effort) -> IntArray:
        """Return numbers by which nodes follow one another: stages, and within them cuts.

        The more cuts between a stage and the next one, or the one before, have a node in the
        earlier of the two, the earlier it comes.
        """
        most = CUTS * len(CORRIDORS)
        places: IntArray = 4 * most * stages
        sizes = np.bincount(stages, minlength=self._stages)
        for first in range(self._stages - 1):
            size = int(sizes[first] + sizes[first + 1])
            if size > self._largest_pair or effort.is_spent():
                continue
            changed = max(self._changed[first], self._changed[first + 1])
            if first not in self._ranked or self._ranked[first][0] < changed:
                _, times_first = self._divide(stages.copy(), first, first + 1, order)
                self._count(1, size, effort)
                self._ranked[first] = self._clock, times_first
            places -= self._ranked[first][1]
        return places

    def _count(self, gap: int, size: int, effort: Effort) -> None:
        """Count the nodes of a divided pair as evaluations, once for each corridor.

        As many nodes as the graph has count as eight evaluations: they take as long as the moves
        that these stand for.
        """
        times = len(self._corridors if gap == 1 else self._whole)
        self._pending += 8 * times * size
        effort.take(self._pending // len(self._graph.work))
        self._pending %= len(self._graph.work)

    def note_changes(self, before: IntArray, after: IntArray) -> None:
        """Note which stages differ between two partitions."""
        self._clock += 1
        differ = before != after
        for stage in np.unique([before[differ], after[differ]]).tolist():
            self._changed[stage] = self._clock
