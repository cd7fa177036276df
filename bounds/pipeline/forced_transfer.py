"""`forced-transfer`: the mean work, with transfers that no partition below a threshold avoids.

Suppose that every stage costs at most t. Stages are convex: one with two nodes in it holds all
that is on paths between them. If that costs more than t, the two are in different stages, and so
are all that the first depends on and all that depends on the second. A tensor from one of those
to the other leaves a stage and enters a stage, so its transfer counts as work at both ends. With
more work, more nodes are too far from each other, and so on. If the work of all nodes then exceeds
what k stages of cost t can do, OPT > t.

This is strong where tensors wait for long: in training graphs, backward operators read what
forward ones wrote at the other end of the graph. Elsewhere it is the mean work.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.bounds.checker.pipeline import limits
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import PipelineInstance

KIND = "separation/1"


class Refutation(NamedTuple):
    """Pairs of nodes that are in different stages, and the threshold that this refutes."""

    threshold: int
    first: IntArray
    last: IntArray


class Separations:
    """Refutes thresholds by pairs of nodes that no stage below them holds together."""

    def __init__(self, instance: PipelineInstance) -> None:
        graph, dag = instance.graph, instance.graph.dag
        self._graph = graph
        self._k = instance.k
        order = dag.topological_order
        self._before = reached(order, dag.producer_start, dag.producers)
        self._after = reached(frozen(order[::-1]), dag.consumer_start, dag.targets)
        between = nodes_between(self._before, self._after, dag.sources, dag.targets)
        self._nearest = frozen(np.argsort(between, kind="stable"))

    def without_pairs(self) -> Refutation:
        """Return the refutation by the nodes' work alone."""
        none = np.empty(0, dtype=np.int64)
        return Refutation(self._least_cost(self._graph.work) - 1, none, none)

    def refute(self, threshold: int) -> Refutation | None:
        """Return a refutation of a threshold or a larger one, or None.

        Parameters
        ----------
        threshold
            What all stages would have to cost at most.
        """
        graph = self._graph
        work = np.array(graph.work, dtype=np.int64)
        first, last, holds_up_to = separate(
            threshold,
            self._before,
            self._after,
            graph.dag.sources,
            graph.dag.targets,
            self._nearest,
            work,
            graph.transfer,
            graph.param_load,
            graph.cache,
        )
        refuted = min(self._least_cost(work) - 1, holds_up_to)
        return Refutation(refuted, first, last) if refuted >= threshold else None

    def _least_cost(self, work: IntArray) -> int:
        """Return the bound on the bottleneck stage for given work."""
        loaded = work + self._graph.param_load
        return max(
            int(work.max()),
            int(loaded.max()) - self._graph.cache,
            -(-int(work.sum()) // self._k),
            -(-int(loaded.sum()) // self._k) - self._graph.cache,
        )


def run(
    instance: PipelineInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound without pairs, then that of the largest threshold found to be refuted.

    Raises
    ------
    UnsupportedError
        If the graph has more nodes than the checker takes.
    """
    graph = instance.graph
    if instance.nodes > limits.LARGEST_SEPARATION_GRAPH:
        raise UnsupportedError(
            f"the graph has {instance.nodes:,} nodes; "
            f"expected at most {limits.LARGEST_SEPARATION_GRAPH:,}"
        )
    separations = Separations(instance)
    low = separations.without_pairs()
    high = int(graph.work.sum() + 2 * graph.transfer.sum() + graph.param_load.sum())
    progress.bound(_certificate(instance, low))
    while high - low.threshold > 1 and not budget.is_spent():
        middle = (low.threshold + high) // 2
        found = separations.refute(middle)
        if found is None:
            high = middle
        else:
            low = found
            progress.bound(_certificate(instance, low))


def _certificate(instance: PipelineInstance, found: Refutation) -> Certificate:
    payload = {
        "threshold": found.threshold,
        "first": found.first.tolist(),
        "last": found.last.tolist(),
    }
    return Certificate.of(instance, KIND, found.threshold + 1, payload, "forced-transfer")


Bits = npt.NDArray[np.uint64]

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_BITS = types.Array(types.uint64, 2, "C")
_PAIRS = types.Tuple((_VECTOR, _VECTOR, _INT))  # type: ignore[no-untyped-call]

# Above any cost.
LARGEST = 2**62


@njit([_BITS(_INPUT, _INPUT, _INPUT)], cache=True, nogil=True)
def reached(order: IntArray, start: IntArray, neighbours: IntArray) -> Bits:
    """Return the nodes reachable from each node, itself included, as bit sets.

    Parameters
    ----------
    order
        All nodes, each after its neighbours.
    start, neighbours
        Those of node v are ``neighbours[start[v] : start[v + 1]]``.
    """
    sets = np.zeros((len(order), (len(order) + 63) // 64), dtype=np.uint64)
    for v in order:
        sets[v, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
        for edge in range(start[v], start[v + 1]):
            for word in range(sets.shape[1]):
                sets[v, word] |= sets[neighbours[edge], word]
    return sets


@njit([types.boolean(_BITS, _INT, _INT)], cache=True, nogil=True)
def _has(sets: Bits, u: int, v: int) -> bool:
    """Whether v is in the set of u."""
    return bool((sets[u, v >> 6] >> np.uint64(v & 63)) & np.uint64(1))


@njit([_INT(types.uint64)], cache=True, nogil=True)
def _position(bit: np.uint64) -> int:
    """Return the position of the only bit that is set."""
    position, shift = 0, 32
    while shift:
        if bit >> np.uint64(shift):
            bit >>= np.uint64(shift)
            position += shift
        shift >>= 1
    return position


@njit([_VECTOR(_BITS, _BITS, _INPUT, _INPUT)], cache=True, nogil=True)
def nodes_between(before: Bits, after: Bits, first: IntArray, last: IntArray) -> IntArray:
    """Return how many nodes are on paths from ``first[i]`` to ``last[i]``, ends included."""
    counts = np.zeros(len(first), dtype=np.int64)
    for i in range(len(first)):
        for word in range(before.shape[1]):
            rest = after[first[i], word] & before[last[i], word]
            while rest:
                rest &= rest - np.uint64(1)
                counts[i] += 1
    return counts


@njit([_INT(_BITS, _BITS, _INT, _INT, _VECTOR, _INPUT, _INT, _INT)], cache=True, nogil=True)
def _least_cost(
    before: Bits,
    after: Bits,
    first: int,
    last: int,
    work: IntArray,
    load: IntArray,
    cache: int,
    enough: int,
) -> int:
    """Return a lower bound on the cost of a stage with two nodes; stop above `enough`."""
    demand, streamed = 0, -cache
    for word in range(before.shape[1]):
        rest = after[first, word] & before[last, word]
        while rest:
            bit = rest & (~rest + np.uint64(1))
            node = 64 * word + _position(bit)
            demand += work[node]
            streamed += load[node]
            rest ^= bit
        if demand + max(0, streamed) > enough:
            break
    return demand + max(0, streamed)


@njit(
    [_PAIRS(_INT, _BITS, _BITS, _INPUT, _INPUT, _INPUT, _VECTOR, _INPUT, _INPUT, _INT)],
    cache=True,
    nogil=True,
)
def separate(
    threshold: int,
    before: Bits,
    after: Bits,
    producer: IntArray,
    consumer: IntArray,
    nearest: IntArray,
    work: IntArray,
    transfer: IntArray,
    load: IntArray,
    cache: int,
) -> tuple[IntArray, IntArray, int]:
    """Find pairs of nodes that no stage below a threshold contains; add their transfers to `work`.

    A tensor with its producer at or before the first node of a pair and a consumer at or after
    the second leaves one stage and enters another. Its transfer is added to the work of both ends,
    which can make stages of other pairs too expensive.

    Parameters
    ----------
    threshold
        What stages cost at most.
    before, after
        Sets of bits: what each node depends on, and what depends on it, itself included.
    producer, consumer
        The ends of each edge, sorted.
    nearest
        The edges, fewest nodes between their ends first.
    work, transfer, load, cache
        Costs of the nodes; ``work`` is what remains to be done within stages, and grows.

    Returns
    -------
    IntArray, IntArray, int
        First and last nodes of the pairs, in the order in which they were found, and the largest
        threshold at which each of them still follows from those before it.
    """
    first = np.empty(len(producer), dtype=np.int64)
    last = np.empty(len(producer), dtype=np.int64)
    pairs, holds_up_to = 0, LARGEST
    is_moved = transfer == 0
    grows = True
    while grows:
        grows = False
        for edge in nearest:
            a, b = producer[edge], consumer[edge]
            if is_moved[a]:
                continue
            if _least_cost(before, after, a, b, work, load, cache, threshold) <= threshold:
                continue
            whole = _least_cost(before, after, a, b, work, load, cache, LARGEST)
            holds_up_to = min(holds_up_to, whole - 1)
            first[pairs], last[pairs] = a, b
            pairs += 1
            grows = True
            for other in range(len(producer)):
                u, w = producer[other], consumer[other]
                if not is_moved[u] and _has(before, a, u) and _has(after, b, w):
                    is_moved[u] = True
                    work[u] += transfer[u]
                    work[w] += transfer[u]
    return first[:pairs].copy(), last[:pairs].copy(), holds_up_to


@njit([_VECTOR(_BITS, _BITS, _INPUT, _INPUT, _INPUT)], cache=True, nogil=True)
def spans(
    before: Bits, after: Bits, start: IntArray, targets: IntArray, transfer: IntArray
) -> IntArray:
    """Return the total transfer of tensors that lead past each node, shape (n,).

    Their producer is the node or one that it depends on, and some consumer depends on the node.

    Parameters
    ----------
    before, after
        The nodes that each node depends on, those that depend on it, and itself, as bits.
    start, targets
        The consumers of node v are ``targets[start[v] : start[v + 1]]``.
    transfer
        Ticks of each node's output, shape (n,).
    """
    nodes = len(transfer)
    total = np.zeros(nodes, dtype=np.int64)
    read_after = np.empty(before.shape[1], dtype=np.uint64)
    for u in range(nodes):
        if transfer[u] == 0:
            continue
        read_after[:] = 0
        for edge in range(start[u], start[u + 1]):
            for word in range(len(read_after)):
                read_after[word] |= before[targets[edge], word]
        for word in range(len(read_after)):
            # Nodes on the way from u to one of its consumers, ends included.
            rest = read_after[word] & after[u, word]
            for bit in range(64):
                if (rest >> np.uint64(bit)) & np.uint64(1):
                    total[64 * word + bit] += transfer[u]
    return total
