"""Prefixes of many partitions, and the best partition whose boundaries are all among them.

A prefix is all nodes before a boundary between two stages: a down-set of the graph. A partition
into k stages is a chain of nested prefixes, and a stage's cost depends on the two next to it alone.
So the best chain among thousands of prefixes is a dynamic program over pairs of these, as over all
down-sets in `ideal-dp`. It combines the good stages of partitions that each have a bad one, and is
the more useful the more stages there are.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.compiling import compiled, internal
from boundmark.heuristics.incumbent import NO_COST
from boundmark.heuristics.pipeline.effort import Effort
from boundmark.heuristics.pipeline.kernel_graph import GRAPH, Graph
from boundmark.problems.arrays import IntArray
from boundmark.problems.pipeline.instance import PipelineInstance

Words = npt.NDArray[np.uint64]

_INT = types.int64
_ROW = types.int64[::1]
_MATRIX = types.int64[:, ::1]
_WORDS = types.uint64[::1]
_WORD_ROWS = types.uint64[:, ::1]


@dataclass(frozen=True)
class PrefixPoolSettings:
    """Settings of a pool of prefixes.

    Attributes
    ----------
    growth
        The best chain is looked for again once the pool has grown by this factor.
    most_prefixes, most_bits
        Most prefixes that a pool keeps, and most bits of all together, one for each prefix and
        node. A full pool forgets the half that it has not met for the longest time.
    rows_per_look
        Prefixes from which chains are continued between two looks at the clock.
    """

    growth: float = 1.3
    most_prefixes: int = 20_000
    most_bits: int = 2**28
    rows_per_look: int = 64


DEFAULTS = PrefixPoolSettings()


class PrefixPool:
    """Distinct prefixes of partitions, without the empty one and that of all nodes."""

    def __init__(
        self, instance: PipelineInstance, graph: Graph, settings: PrefixPoolSettings = DEFAULTS
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
        step = self._settings.rows_per_look
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
