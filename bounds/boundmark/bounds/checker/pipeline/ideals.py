"""The kind ideal-dp: all down-sets that stages of a cost lead to."""

from collections.abc import Iterator
from typing import Any

from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance

# Where memory and time for a certificate end: steps from one down-set to the next by a single node,
# those times the number of nodes, and pairs of down-sets compared.
MOST_IDEAL_STEPS = 2_000_000
MOST_IDEAL_BITS = 2**31
MOST_IDEAL_PAIRS = 20_000_000


def ideal_dp(graph: Instance, payload: Any) -> int:
    """Return what a search of the down-sets proves."""
    payload = fields(payload, "the payload", {"threshold", "ignored"})
    threshold = integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    ignored = integers(payload["ignored"], "ignored of the payload", 0, len(graph.work) - 1)
    ideals = _Ideals(graph, set(ignored))
    reached = {0}
    level = [0]
    for stages in range(graph.k, 0, -1):
        level = [ideal for ideal in level if ideals.may_end(ideal, stages, threshold)]
        if not level:
            return threshold + 1
        if stages > 1:
            found = {end for first in level for end in ideals.after_one_stage(first, threshold)}
            level = list(found - reached)
            reached |= found
        if ideals.all in reached:
            break
    raise Rejected("the down-sets do not refute the threshold")


class _Ideals:
    """The down-sets of the graph without some nodes, as bit sets, found step by step."""

    def __init__(self, graph: Instance, ignored: set[int]) -> None:
        nodes = range(len(graph.work))
        self._graph = graph
        self._needs = [0 for _ in nodes]
        self._feeds = [0 for _ in nodes]
        for u, w in graph.edges:
            if u not in ignored and w not in ignored:
                self._needs[w] |= 1 << u
                self._feeds[u] |= 1 << w
        kept = [v for v in nodes if v not in ignored]
        # Work and param_load inside, transfers that leave, and nodes that may come next.
        ready = sum(1 << v for v in kept if not self._needs[v])
        self._facts = {0: (0, 0, 0, ready)}
        self._steps: dict[int, list[tuple[int, ...]]] = {}
        self._transfers = {0: 0}
        self._count = 0
        self._pairs = 0
        self.all = sum(1 << v for v in kept)
        self._work = sum(graph.work[v] for v in kept)
        self._load = sum(graph.param_load[v] for v in kept)

    def _transfer(self, nodes: int) -> int:
        total = self._transfers.get(nodes)
        if total is None:
            total = self._transfers[nodes] = sum(self._graph.transfer[u] for u in _bits(nodes))
        return total

    def steps(self, ideal: int) -> list[tuple[int, ...]]:
        """Return each down-set with one node more, with what that node adds.

        That is its work, param_load, transfer, producers, and those it is the last to read from.
        """
        known = self._steps.get(ideal)
        if known is not None:
            return known
        found: list[tuple[int, ...]] = []
        work, load, leaving, ready = self._facts[ideal]
        for v in _bits(ready):
            after = ideal | 1 << v
            needs, feeds = self._needs[v], self._feeds[v]
            read_last = sum(1 << u for u in _bits(needs) if not self._feeds[u] & ~after)
            node_work, node_load = self._graph.work[v], self._graph.param_load[v]
            transfer = self._graph.transfer[v] if feeds else 0
            found.append((after, node_work, node_load, transfer, needs, read_last))
            if after not in self._facts:
                opened = sum(1 << w for w in _bits(feeds) if not self._needs[w] & ~after)
                self._facts[after] = (
                    work + node_work,
                    load + node_load,
                    leaving + transfer - self._transfer(read_last),
                    ready ^ 1 << v | opened,
                )
        self._count += len(found)
        if self._count > min(MOST_IDEAL_STEPS, MOST_IDEAL_BITS // len(self._graph.work)):
            raise Rejected("the graph has too many down-sets to check")
        self._steps[ideal] = found
        return found

    def may_end(self, ideal: int, stages: int, threshold: int) -> bool:
        """Whether stages of cost up to the threshold may do for the nodes outside a down-set."""
        work, load, leaving, _ = self._facts[ideal]
        overflow = max(0, self._load - load - stages * self._graph.cache)
        return self._work - work + leaving + overflow <= stages * threshold

    def after_one_stage(self, first: int, threshold: int) -> list[int]:
        """Return the larger down-sets that one stage of cost up to the threshold leads to."""
        within = []
        seen = {first}
        # A down-set, and of what it has beyond the first: work, load, io in and out, tensors in.
        stack = [(first, 0, 0, 0, 0, 0)]
        cache = self._graph.cache
        while stack:
            ideal, work, load, entering, leaving, tensors = stack.pop()
            for after, node_work, node_load, transfer, needs, read_last in self.steps(ideal):
                if after in seen:
                    continue
                seen.add(after)
                more = needs & first & ~tensors
                now_entering = entering + self._transfer(more)
                now_load = load + node_load
                # None of these costs becomes less as nodes are added.
                cost = work + node_work + now_entering + max(0, now_load - cache)
                if cost > threshold:
                    continue
                now_leaving = leaving + transfer - self._transfer(read_last & ~first)
                stack.append(
                    (after, work + node_work, now_load, now_entering, now_leaving, tensors | more)
                )
                if cost + now_leaving <= threshold:
                    within.append(after)
        self._pairs += len(seen) - 1
        if self._pairs > MOST_IDEAL_PAIRS:
            raise Rejected("the graph has too many pairs of down-sets to check")
        return within


def _bits(nodes: int) -> Iterator[int]:
    while nodes:
        low = nodes & -nodes
        yield low.bit_length() - 1
        nodes ^= low
