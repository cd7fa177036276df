"""The flow network of a section: minimum cuts are the down-sets with least live memory.

A down-set D is the source's side. The tensor of producer p has a vertex that is reached from p
(from the source if it is there from the start) with the tensor's size as capacity, and from which
its readers are reached without limit: it is cut if p is in D and some reader is not. Each reader
reaches p without limit, so that D has what its members wait for. A tensor that stays after the
section is read by the sink.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit, types

from boundmark.bounds.checker.ordering.section import EARLIER, Section, may_overwrite
from boundmark.problems.arrays import IntArray

# More than any cut.
_UNLIMITED = 2**60

Flags: TypeAlias = npt.NDArray[np.bool_]

# Rows (tensor, reader, amount), with numbers as in the instance.
Rows = list[list[int]]


class SectionNetwork:
    """Minimum cuts of one section.

    Parameters
    ----------
    scale
        Sizes are multiplied by it.
    """

    def __init__(self, part: Section, scale: int = 1) -> None:
        self._part, self._scale = part, scale
        count, tensors = len(part.operators), len(part.tensors)
        self._source, self._sink = count + tensors, count + tensors + 1
        stays = [0] * count
        arcs: list[tuple[int, int, int]] = []
        self._pairs: list[tuple[int, int]] = []
        for at, tensor in enumerate(part.tensors):
            size = scale * tensor.size
            if tensor.stays:
                stays[tensor.producer] += size
                size = 0
            tail = self._source if tensor.producer == EARLIER else tensor.producer
            arcs.append((tail, count + at, size))
            for reader in tensor.readers:
                self._pairs.append((at, reader))
                arcs.append((count + at, reader, _UNLIMITED))
                # Not needed for a tensor that exists from the start, but keeps all pairs uniform.
                arcs.append((reader, tail, 0 if tensor.producer == EARLIER else _UNLIMITED))
        pair_arcs = [i for i, arc in enumerate(arcs) if arc[0] >= count and arc[1] < count]
        begin = len(arcs)
        arcs += [(self._source, u, 0) for u in range(count)]
        arcs += [(u, self._sink, stays[u]) for u in range(count)]
        place = self._arrange(arcs)
        self._sells, self._returns = place[pair_arcs], place[np.array(pair_arcs, np.int64) + 1]
        self._in, self._out = place[begin : begin + count], place[begin + count :]

    def _arrange(self, arcs: Sequence[tuple[int, int, int]]) -> IntArray:
        """Store arcs and their opposites by tail; return the place of each arc."""
        table = np.array(arcs, dtype=np.int64).reshape(-1, 3)
        tail = np.concatenate([table[:, 0], table[:, 1]])
        order = np.argsort(tail, kind="stable")
        place = np.empty(len(tail), np.int64)
        place[order] = np.arange(len(tail))
        self._start = np.searchsorted(tail[order], np.arange(self._sink + 2))
        self._head = np.concatenate([table[:, 1], table[:, 0]])[order]
        opposite = np.concatenate([place[len(table) :], place[: len(table)]])
        self._back = opposite[order]
        self._capacity = np.concatenate([table[:, 2], np.zeros(len(table), np.int64)])[order]
        return place[: len(table)]

    def least_while_running(self, v: int) -> tuple[int, Rows]:
        """Return the least memory while an operator runs, and the prices that prove it.

        What overwrites in some orders is taken to do so in all.
        """
        part = self._part
        capacity = self._capacity.copy()
        outside = part.behind[v] | 1 << v
        count = len(part.operators)
        capacity[self._in[_as_flags(part.before[v], count)]] = _UNLIMITED
        capacity[self._out[_as_flags(outside, count)]] = _UNLIMITED
        flow, residual = self._flow(capacity)
        saved = part.written[v] if part.overwrites[v] and may_overwrite(part, v) else 0
        rows = self._rows(capacity, residual, outside)
        return part.base + flow + part.running[v] - saved, rows

    def lowest_below_slope(self, rise: int) -> tuple[int, Flags, Rows]:
        """Return the least of scale L(D) - rise |D|, a down-set that attains it, and prices.

        The down-set is neither empty nor the whole if one of the best ones is neither.
        """
        count = len(self._part.operators)
        capacity = self._capacity.copy()
        if rise > 0:
            capacity[self._in] += rise
        else:
            capacity[self._out] -= rise
        flow, residual = self._flow(capacity)
        least = self._scale * self._part.base + flow - max(0, rise) * count
        return least, self._proper_side(residual), self._rows(capacity, residual, 0)

    def _flow(self, capacity: IntArray) -> tuple[int, IntArray]:
        residual = capacity.copy()
        return (
            maximum_flow(self._start, self._head, self._back, residual, self._source, self._sink),
            residual,
        )

    def _rows(self, capacity: IntArray, residual: IntArray, certain: int) -> Rows:
        """Return the prices of a flow, except those that the checker assumes by default."""
        used = capacity - residual
        # A residual may exceed its capacity by what its opposite carries.
        amounts = np.maximum(0, used[self._sells]) - np.maximum(0, used[self._returns])
        by_tensor: dict[int, list[tuple[int, int]]] = {}
        for (tensor, reader), amount in zip(self._pairs, amounts.tolist(), strict=True):
            if amount:
                by_tensor.setdefault(tensor, []).append((reader, amount))
        rows = []
        for at, prices in by_tensor.items():
            read = self._part.tensors[at]
            outside = [reader for reader in read.readers if certain >> reader & 1]
            if outside and prices == [(outside[0], read.size)] and not read.stays:
                continue
            rows += [
                [read.number, self._part.operators[reader], amount] for reader, amount in prices
            ]
        return rows

    def _proper_side(self, residual: IntArray) -> Flags:
        """Return a minimum cut's operators as flags, a proper subset if there is one.

        Minimum cuts are the sets that no arc with a residual leaves.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        count, vertices = len(self._part.operators), self._sink + 1
        is_open = residual > 0
        tails = np.repeat(np.arange(vertices), np.diff(self._start))[is_open]
        heads = self._head[is_open]
        graph = coo_array((np.ones(len(tails), np.int8), (tails, heads)), (vertices, vertices))
        parts, of = connected_components(graph, directed=True, connection="strong")
        leads_to: list[set[int]] = [set() for _ in range(parts)]
        for first, second in zip(of[tails].tolist(), of[heads].tolist(), strict=True):
            if first != second:
                leads_to[first].add(second)
        best = np.zeros(count, dtype=np.bool_)
        for begin in dict.fromkeys([int(of[self._source]), *of[:count].tolist()]):
            reached = {begin, int(of[self._source])}
            pending = list(reached)
            while pending:
                for following in leads_to[pending.pop()]:
                    if following not in reached:
                        reached.add(following)
                        pending.append(following)
            side = np.isin(of[:count], list(reached))
            if of[self._sink] not in reached and side.any():
                best = side
                if not side.all():
                    return best
        return best


def _as_flags(operators: int, count: int) -> Flags:
    """Return a set of operators as an array of truth values, shape (k,)."""
    given = np.frombuffer(operators.to_bytes(count // 8 + 1, "little"), np.uint8)
    return np.unpackbits(given, bitorder="little")[:count].astype(np.bool_)


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")


@njit([_INT(*(_INPUT,) * 3, _VECTOR, _INT, _INT)], cache=True, nogil=True)
def maximum_flow(
    start: IntArray, head: IntArray, back: IntArray, residual: IntArray, source: int, sink: int
) -> int:
    """Send as much as possible from the source to the sink; return how much.

    Parameters
    ----------
    start
        Vertex u has the arcs ``start[u] .. start[u + 1] - 1``, shape (vertices + 1,).
    head, back
        Where each arc leads, and the number of the arc in the other direction, shape (arcs,).
    residual
        Capacity of each arc; on return what is left of it, shape (arcs,).
    """
    vertices = len(start) - 1
    level = np.empty(vertices, np.int64)
    arc = np.empty(vertices, np.int64)
    queue = np.empty(vertices, np.int64)
    path = np.empty(vertices, np.int64)
    total = 0
    while True:
        level[:] = -1
        level[source] = 0
        queue[0] = source
        first, last = 0, 1
        while first < last and level[sink] < 0:
            u = queue[first]
            first += 1
            for e in range(start[u], start[u + 1]):
                if residual[e] > 0 and level[head[e]] < 0:
                    level[head[e]] = level[u] + 1
                    queue[last] = head[e]
                    last += 1
        if level[sink] < 0:
            return total
        for u in range(vertices):
            arc[u] = start[u]
        u, depth = source, 0
        while True:
            if u == sink:
                amount = residual[path[0]]
                for at in range(1, depth):
                    amount = min(amount, residual[path[at]])
                blocked = depth
                for at in range(depth - 1, -1, -1):
                    e = path[at]
                    residual[e] -= amount
                    residual[back[e]] += amount
                    if residual[e] == 0:
                        blocked = at
                total += amount
                depth = blocked
                u = head[back[path[blocked]]]
                continue
            e = arc[u]
            while e < start[u + 1] and not (residual[e] > 0 and level[head[e]] == level[u] + 1):
                e += 1
            arc[u] = e
            if e < start[u + 1]:
                path[depth] = e
                depth += 1
                u = head[e]
            elif depth == 0:
                break
            else:
                level[u] = -1
                depth -= 1
                u = head[back[path[depth]]]
