"""The flow network of a section: minimum cuts are the down-sets with least live memory.

A down-set D is the source's side. The tensor of producer p has a vertex that is reached from p
(from the source if it is there from the start) with the tensor's size as capacity, and from which
its readers are reached without limit: it is cut if p is in D and some reader is not. Each reader
reaches p without limit, so that D has what its members wait for. A tensor that stays after the
section is read by the sink.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from boundmark.bounds.checker.ordering.section import EARLIER, Section, may_overwrite
from boundmark.bounds.maximum_flow import SINK, SOURCE, UNLIMITED, Network
from boundmark.problems.arrays import IntArray

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
        # Vertices of operators, and of tensors after them.
        count = len(part.operators)
        self._operators = np.arange(2, 2 + count)
        stays = [0] * count
        arcs: list[tuple[int, int, int]] = []
        self._pairs: list[tuple[int, int]] = []
        sells = []
        for at, tensor in enumerate(part.tensors, start=2 + count):
            size = scale * tensor.size
            if tensor.stays:
                stays[tensor.producer] += size
                size = 0
            tail = SOURCE if tensor.producer == EARLIER else 2 + tensor.producer
            arcs.append((tail, at, size))
            for reader in tensor.readers:
                self._pairs.append((at - 2 - count, reader))
                sells.append(len(arcs))
                arcs.append((at, 2 + reader, UNLIMITED))
                # Not needed for a tensor that exists from the start, but keeps all pairs uniform.
                arcs.append((2 + reader, tail, 0 if tensor.producer == EARLIER else UNLIMITED))
        self._sells = np.array(sells, dtype=np.int64)
        # The arcs from the source to all operators come next, and then those to the sink.
        self._in = len(arcs) + np.arange(count)
        self._out = self._in + count
        arcs += [(SOURCE, v, 0) for v in self._operators.tolist()]
        arcs += zip(self._operators.tolist(), [SINK] * count, stays, strict=True)
        self._tails, self._heads, self._capacity = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
        self._vertices = 2 + count + len(part.tensors)
        self._network = Network.of(self._vertices, self._tails, self._heads)

    def least_while_running(self, v: int) -> tuple[int, Rows]:
        """Return the least memory while an operator runs, and the prices that prove it.

        What overwrites in some orders is taken to do so in all.
        """
        part = self._part
        capacity = self._capacity.copy()
        outside = part.behind[v] | 1 << v
        count = len(part.operators)
        capacity[self._in[_as_flags(part.before[v], count)]] = UNLIMITED
        capacity[self._out[_as_flags(outside, count)]] = UNLIMITED
        value, flow = self._flow(capacity)
        saved = part.written[v] if part.overwrites[v] and may_overwrite(part, v) else 0
        return part.base + value + part.running[v] - saved, self._rows(flow, outside)

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
        value, flow = self._flow(capacity)
        least = self._scale * self._part.base + value - max(0, rise) * count
        return least, self._proper_side(capacity, flow), self._rows(flow, 0)

    def _flow(self, capacity: IntArray) -> tuple[int, IntArray]:
        """Return how much flows from the source to the sink, and the flow on each arc."""
        flow, _ = self._network.cut(capacity)
        return int(flow[self._heads == SINK].sum()), flow

    def _rows(self, flow: IntArray, certain: int) -> Rows:
        """Return the prices of a flow, except those that the checker assumes by default."""
        amounts = flow[self._sells] - flow[self._sells + 1]
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

    def _proper_side(self, capacity: IntArray, flow: IntArray) -> Flags:
        """Return a minimum cut's operators as flags, a proper subset if there is one.

        Minimum cuts are the sets that no arc with a residual leaves.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        vertices, operators = self._vertices, self._operators
        has_room, has_flow = capacity > flow, flow > 0
        tails = np.concatenate([self._tails[has_room], self._heads[has_flow]])
        heads = np.concatenate([self._heads[has_room], self._tails[has_flow]])
        graph = coo_array((np.ones(len(tails), np.int8), (tails, heads)), (vertices, vertices))
        parts, of = connected_components(graph, directed=True, connection="strong")
        leads_to: list[set[int]] = [set() for _ in range(parts)]
        for first, second in zip(of[tails].tolist(), of[heads].tolist(), strict=True):
            if first != second:
                leads_to[first].add(second)
        best = np.zeros(len(operators), dtype=np.bool_)
        for begin in dict.fromkeys([int(of[SOURCE]), *of[operators].tolist()]):
            reached = {begin, int(of[SOURCE])}
            pending = list(reached)
            while pending:
                for following in leads_to[pending.pop()]:
                    if following not in reached:
                        reached.add(following)
                        pending.append(following)
            side = np.isin(of[operators], list(reached))
            if of[SINK] not in reached and side.any():
                best = side
                if not side.all():
                    return best
        return best


def _as_flags(operators: int, count: int) -> Flags:
    """Return a set of operators as an array of truth values, shape (k,)."""
    given = np.frombuffer(operators.to_bytes(count // 8 + 1, "little"), np.uint8)
    return np.unpackbits(given, bitorder="little")[:count].astype(np.bool_)
