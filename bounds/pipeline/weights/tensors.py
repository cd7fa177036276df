"""A graph by its tensors: nodes that share one, nodes between two others, costs of sets."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.cpython.unsafe.numbers import trailing_zeros

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.pipeline.graph import PipelineGraph

BitSets = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]


class TensorGraph(NamedTuple):
    """A graph by its tensors: neighbours are the ends of one tensor.

    Bit sets have a row per node, of as many words as n bits take.

    Attributes
    ----------
    before, after
        What each node depends on, and what depends on it, at any distance.
    near
        The nodes that share a tensor with each node.
    ends
        Producer and consumers of each node's tensor; empty without consumers.
    held
        The tensors that each node is an end of, by the numbers of their producers.
    work, load, transfer
        Ticks, shape (n,).
    end_start, end
        Ends of node u's tensor: ``end[end_start[u] : end_start[u + 1]]``, the producer first.
    place_start, place_tensor, place
        Where node v is among them: ``end[place[i]] == v`` for the tensor of ``place_tensor[i]``,
        for i from ``place_start[v]`` to ``place_start[v + 1] - 1``.
    """

    before: BitSets
    after: BitSets
    near: BitSets
    ends: BitSets
    held: BitSets
    work: IntArray
    load: IntArray
    transfer: IntArray
    end_start: IntArray
    end: IntArray
    place_start: IntArray
    place_tensor: IntArray
    place: IntArray


_BITS = types.Array(types.uint64, 2, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C", readonly=True)
GRAPH = types.NamedTuple([_BITS] * 5 + [_VECTOR] * 8, TensorGraph)  # type: ignore[no-untyped-call]

# Which stage a set is to be. The first one holds all producers of its nodes, and the last one all
# their consumers; any stage is convex.
ANY, FIRST, LAST = range(3)


# Without a signature it is compiled into its cached callers, not at import.
@njit(inline="always")
def lowest(word: int) -> int:
    """Return the number of the lowest bit that is set."""
    return np.int64(trailing_zeros(word))  # type: ignore[call-arg, return-value]


def bits_of(members: int) -> Iterator[int]:
    """Yield the members of a bit set, ascending."""
    while members:
        low = members & -members
        yield low.bit_length() - 1
        members ^= low


def members_where(mask: npt.NDArray[np.bool_]) -> int:
    """Return the bit set of the nodes for which a mask is true."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


@dataclass(frozen=True, eq=False)
class Tensors:
    """A graph's tensors, for sets of nodes as Python integers.

    Attributes
    ----------
    graph
        The costs; see `loaded` for what they may stand for.
    before, after
        What each node depends on, and what depends on it, at any distance.
    near
        The nodes that share a tensor with each node.
    ends
        Producer and consumers of each node's tensor; empty without consumers.
    held
        The tensors that each node is an end of, by the numbers of their producers.
    """

    graph: PipelineGraph
    before: tuple[int, ...]
    after: tuple[int, ...]
    near: tuple[int, ...]
    ends: tuple[int, ...]
    held: tuple[int, ...]

    @classmethod
    def of(cls, graph: PipelineGraph) -> "Tensors":
        """Compute all sets from the edges."""
        dag, nodes = graph.dag, graph.dag.nodes
        pairs = list(zip(dag.sources.tolist(), dag.targets.tolist(), strict=True))
        before, after, near, ends, held = ([0] * nodes for _ in range(5))
        for u, w in pairs:
            ends[u] |= 1 << u | 1 << w
            held[u] |= 1 << u
            held[w] |= 1 << u
        for v in range(nodes):
            for u in bits_of(held[v]):
                near[v] |= ends[u]
            near[v] &= ~(1 << v)
        position = np.argsort(dag.topological_order)
        for u, w in sorted(pairs, key=lambda edge: position[edge[0]]):
            before[w] |= before[u] | 1 << u
        for u, w in sorted(pairs, key=lambda edge: -position[edge[1]]):
            after[u] |= after[w] | 1 << w
        return cls(graph, *map(tuple, (before, after, near, ends, held)))

    @property
    def nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.ends)

    def cost(self, members: int) -> int:
        """Return f(S), the cost of a set as if it were a stage."""
        graph = self.graph
        nodes = list(bits_of(members))
        touched = 0
        for v in nodes:
            touched |= self.held[v]
        moved = sum(int(graph.transfer[u]) for u in bits_of(touched) if self.ends[u] & ~members)
        overflow = max(0, int(graph.param_load[nodes].sum()) - graph.cache)
        return int(graph.work[nodes].sum()) + moved + overflow

    def near_to(self, members: int) -> int:
        """Return the nodes outside a set that share a tensor with one in it."""
        near = 0
        for v in bits_of(members):
            near |= self.near[v]
        return near & ~members

    def parts(self, members: int) -> Iterator[int]:
        """Yield the connected parts of a set."""
        while members:
            part, more = 0, members & -members
            while more:
                part |= more
                more = self.near_to(part) & members
            yield part
            members &= ~part

    def is_convex(self, members: int) -> bool:
        """Whether no path leaves a set and comes back."""
        before = after = 0
        for v in bits_of(members):
            before |= self.before[v]
            after |= self.after[v]
        return not before & after & ~members

    def hull(self, members: int, node: int) -> int:
        """Return the smallest convex set that contains a convex set and a node."""
        before, after = self.before[node], self.after[node]
        for v in bits_of(members):
            before |= self.before[v]
            after |= self.after[v]
        return members | 1 << node | before & after

    def kept_out(self, inside: int, outside: int) -> int:
        """Return the nodes in no convex set that contains `inside` and avoids `outside`."""
        before = after = 0
        for v in bits_of(inside):
            before |= self.before[v]
            after |= self.after[v]
        result = outside
        for v in bits_of(outside & after):
            result |= self.after[v]
        for v in bits_of(outside & before):
            result |= self.before[v]
        return result

    def arrays(self) -> TensorGraph:
        """Return the form that kernels take."""
        graph, sources = self.graph, range(self.nodes)
        lists = [[u, *bits_of(self.ends[u] & ~(1 << u))] if self.ends[u] else [] for u in sources]
        end = [v for ends in lists for v in ends]
        places: list[list[int]] = [[] for _ in sources]
        for i, v in enumerate(end):
            places[v].append(i)
        place = [i for at in places for i in at]
        tensor = np.repeat(np.arange(self.nodes), [len(ends) for ends in lists])
        return TensorGraph(
            before=packed(self.before, self.nodes),
            after=packed(self.after, self.nodes),
            near=packed(self.near, self.nodes),
            ends=packed(self.ends, self.nodes),
            held=packed(self.held, self.nodes),
            work=graph.work,
            load=graph.param_load,
            transfer=graph.transfer,
            end_start=_starts(lists),
            end=frozen(np.array(end, dtype=np.int64)),
            place_start=_starts(places),
            place_tensor=frozen(tensor[place]),
            place=frozen(np.array(place, dtype=np.int64)),
        )


def packed(sets: Iterable[int], nodes: int) -> BitSets:
    """Return bit sets as rows of 64-bit words."""
    words = max(1, -(-nodes // 64))
    rows = [members.to_bytes(8 * words, "little") for members in sets]
    result = np.frombuffer(b"".join(rows), dtype="<u8").astype(np.uint64).reshape(-1, words)
    result.flags.writeable = False
    return result


def unpacked(row: BitSets) -> int:
    """Return a row of words as a bit set."""
    return int.from_bytes(row.astype("<u8").tobytes(), "little")


def renumbered(graph: PipelineGraph, order: Sequence[int]) -> PipelineGraph:
    """Return the graph with node ``order[i]`` as node i."""
    number = np.argsort(order)
    ends = zip(number[graph.dag.sources].tolist(), number[graph.dag.targets].tolist(), strict=True)
    nodes = list(order)
    work, transfer, load = (
        frozen(costs[nodes]) for costs in (graph.work, graph.transfer, graph.param_load)
    )
    dag, names = Dag.from_edges(len(nodes), ends), tuple(graph.names[v] for v in nodes)
    return PipelineGraph(dag, work, transfer, load, graph.cache, names, graph.tick)


def loaded(graph: PipelineGraph) -> PipelineGraph:
    """Return the graph in which parameters count as work and nothing overflows.

    A stage S that costs at most t has ``work(S) + io(S) + param_load(S) <= t + cache``.
    """
    return PipelineGraph.without_parameters(
        graph.dag, frozen(graph.work + graph.param_load), graph.transfer, graph.names, graph.tick
    )


def _starts(lists: Sequence[Sequence[int]]) -> IntArray:
    return frozen(np.cumsum([0, *map(len, lists)]))
