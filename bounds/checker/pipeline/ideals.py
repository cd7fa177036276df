"""Checks the kind ideal-dp: searches all down-sets that stages within a threshold lead to."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..budget import spend
from ..sets import as_bits, members
from ..values import LARGEST_AMOUNT, Rejected, TooLarge, fields, integer, integers
from . import limits
from .instance import Instance

# Sets of nodes of which the transfer is kept.
MOST_TRANSFERS = 2**17


def ideal_dp(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if the search of the down-sets refutes it."""
    payload = fields(payload, "the payload", {"threshold", "ignored"})
    threshold = integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    ignored = integers(payload["ignored"], "ignored of the payload", 0, len(graph.work) - 1)
    ideals = Ideals(graph, set(ignored))
    reached = {0}
    level = [0]
    for stages in range(graph.k, 0, -1):
        level = [one for one in level if ideals.least_cost(one, stages) <= stages * threshold]
        if not level:
            return threshold + 1
        if stages > 1:
            found = {end for first in level for _, end in ideals.after_one_stage(first, threshold)}
            level = list(found - reached)
            reached |= found
        if ideals.all in reached:
            break
    raise Rejected("the down-sets do not refute the threshold")


class _Step(NamedTuple):
    """A step to a down-set with one node more, and the producers that it is the last to read."""

    after: int
    node: int
    read_last: int


class _Totals(NamedTuple):
    """A down-set has work and param_load inside, transfers that leave, and nodes to come next."""

    work: int
    load: int
    leaving: int
    ready: int


class Ideals:
    """The down-sets of the graph without some nodes, numbered as they are found from 0, the empty.

    They are sets of nodes, as bits. `pairs` of them have been compared.
    """

    def __init__(self, graph: Instance, ignored: set[int], most: int | None = None) -> None:
        self._graph = graph
        self._most = most
        kept = [v for v in range(len(graph.work)) if v not in ignored]
        # Each node kept begins a down-set that the one before does not have.
        if len(kept) * len(graph.work) > limits.MOST_IDEAL_BITS:
            raise TooLarge("the graph has too many down-sets to check")
        self._producers: dict[int, list[int]] = {v: [] for v in kept}
        self._consumers: dict[int, list[int]] = {v: [] for v in kept}
        for u, w in graph.edges:
            if u in self._producers and w in self._producers:
                self._producers[w].append(u)
                self._consumers[u].append(w)
        self._needs = {v: as_bits(nodes) for v, nodes in self._producers.items()}
        self._feeds = {v: as_bits(nodes) for v, nodes in self._consumers.items()}
        self._nodes = [0]
        self._key_bytes = len(graph.work) // 8 + 1
        self._number = {self._key(0): 0}
        self._totals = [_Totals(0, 0, 0, as_bits([v for v in kept if not self._needs[v]]))]
        self._steps: list[list[_Step] | None] = [None]
        self._transfers: dict[bytes, int] = {}
        self._count = 0
        self.pairs = 0
        self._whole = as_bits(kept)
        self._work = sum(graph.work[v] for v in kept)
        self._load = sum(graph.param_load[v] for v in kept)

    @property
    def all(self) -> int | None:
        """The number of the down-set with all nodes, None until it is found."""
        return self._number.get(self._key(self._whole))

    def nodes(self, ideal: int) -> Iterator[int]:
        """Yield the nodes of a down-set."""
        return members(self._nodes[ideal])

    def _key(self, nodes: int) -> bytes:
        """Return the key of a set in tables: bytes, as hashes of large integers collide."""
        return nodes.to_bytes(self._key_bytes, "little")

    def _transfer(self, nodes: int) -> int:
        """Return what the tensors of some nodes cost to move, once each."""
        if nodes & nodes - 1 == 0:
            return self._graph.transfer[nodes.bit_length() - 1] if nodes else 0
        key = self._key(nodes)
        total = self._transfers.get(key)
        if total is None:
            found = list(members(nodes))
            spend(len(found))
            total = sum(self._graph.transfer[v] for v in found)
            if len(self._transfers) < MOST_TRANSFERS:
                self._transfers[key] = total
        return total

    def _steps_from(self, ideal: int) -> list[_Step]:
        """Return each down-set with one node more."""
        known = self._steps[ideal]
        if known is not None:
            return known
        found = []
        nodes, totals = self._nodes[ideal], self._totals[ideal]
        ready = list(members(totals.ready))
        spend(sum(4 + len(self._producers[v]) for v in ready))
        self._count += len(ready)
        if self._count > limits.most_ideal_steps(len(self._graph.work)):
            raise TooLarge("the graph has too many down-sets to check")
        for v in ready:
            after = nodes | 1 << v
            read_last = as_bits([u for u in self._producers[v] if not self._feeds[u] & ~after])
            key = self._key(after)
            number = self._number.get(key)
            if number is None:
                number = self._number[key] = len(self._nodes)
                if number == self._most:
                    raise TooLarge(f"the graph has more than {number:,} down-sets")
                self._nodes.append(after)
                self._steps.append(None)
                self._totals.append(self._with(v, after, totals, read_last))
            found.append(_Step(number, v, read_last))
        self._steps[ideal] = found
        return found

    def _with(self, v: int, after: int, totals: _Totals, read_last: int) -> _Totals:
        """Return the totals of a down-set that has one node more than another."""
        spend(len(self._consumers[v]))
        leaves = self._graph.transfer[v] if self._feeds[v] else 0
        opened = [w for w in self._consumers[v] if not self._needs[w] & ~after]
        return _Totals(
            totals.work + self._graph.work[v],
            totals.load + self._graph.param_load[v],
            totals.leaving + leaves - self._transfer(read_last),
            totals.ready ^ 1 << v | as_bits(opened),
        )

    def least_cost(self, ideal: int, stages: int) -> int:
        """Return what so many stages with the nodes outside a down-set cost together, or less."""
        totals = self._totals[ideal]
        overflow = max(0, self._load - totals.load - stages * self._graph.cache)
        return self._work - totals.work + totals.leaving + overflow

    def after_one_stage(self, first: int, threshold: int) -> list[tuple[int, int]]:
        """Return the larger down-sets that one stage within the threshold leads to, by its cost."""
        within = []
        seen = {first}
        before, graph = self._nodes[first], self._graph
        outside = ~before
        # A down-set, and of what it has beyond the first: work, load, io in and out; and the nodes
        # of the first whose tensors it does not read yet.
        stack = [(first, 0, 0, 0, 0, before)]
        while stack:
            ideal, work, load, entering, leaving, unread = stack.pop()
            known = len(seen)
            for after, v, read_last in self._steps_from(ideal):
                if after in seen:
                    continue
                seen.add(after)
                more = self._needs[v] & unread
                now_entering = entering + self._transfer(more) if more else entering
                now_work, now_load = work + graph.work[v], load + graph.param_load[v]
                # None of these costs becomes less as nodes are added.
                cost = now_work + now_entering + max(0, now_load - graph.cache)
                if cost > threshold:
                    continue
                leaves = graph.transfer[v] if self._feeds[v] else 0
                now_leaving = leaving + leaves - self._transfer(read_last & outside)
                now_unread = unread ^ more if more else unread
                stack.append((after, now_work, now_load, now_entering, now_leaving, now_unread))
                if cost + now_leaving <= threshold:
                    within.append((cost + now_leaving, after))
            spend(2 * (len(seen) - known))
        self.pairs += len(seen) - 1
        if self.pairs > limits.most_ideal_pairs(len(graph.work)):
            raise TooLarge("the graph has too many pairs of down-sets to check")
        return within
