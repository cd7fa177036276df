"""Trees of minimum cuts: whether a set that may be a certain stage is heavy and cheap enough.

`Tree` is one search. `bounded_ends` finds by such trees what the first and the last stage weigh at
most, which is often much less than any other stage may weigh: they take far fewer branches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from boundmark.bounds.pipeline.flows.minimum_cuts import transfers_around
from boundmark.bounds.pipeline.weights import cut_search as search
from boundmark.bounds.pipeline.weights.cut_search import IndexArray, Rule, Search
from boundmark.bounds.pipeline.weights.tensors import (
    ANY,
    FIRST,
    LAST,
    Tensors,
    bits_of,
    members_where,
    packed,
)
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.method import Budget
from boundmark.problems.pipeline.graph import PipelineGraph

# Number of sets that a tree may find before weights are computed again.
MOST_FOUND = 10


@dataclass(frozen=True)
class TreeSettings:
    """Settings of a tree, and of the proofs made of it.

    Attributes
    ----------
    most_steps
        Steps that the checker takes for a tree, at most; the rest is for the instance.
    most_numbers
        Numbers of a tree's certificate, at most; they take about 6 bytes each.
    turn
        Number of branches, times nodes, between two looks at the clock.
    end_share
        Part of what the weights have in excess that the first and the last stage get, compared with
        other stages. The less they get, the more others have, whose trees are larger.
    """

    most_steps: int = 3 * 2**24
    most_numbers: int = 2**23
    turn: int = 10_000
    end_share: float = 0.25


@dataclass(frozen=True, eq=False)
class HeavySets:
    """The sets that a tree looks for.

    Attributes
    ----------
    weights
        Weights of nodes, shape (n,).
    least
        What they weigh at least.
    limit
        What they cost at most.
    position
        The stage that they may be.
    """

    weights: IntArray
    least: int
    limit: int
    position: int = ANY


class Tree:
    """A search for heavy sets, which goes on from where it stopped.

    Attributes
    ----------
    ended
        How it ended: RUNNING, REFUTED, FOUND or TOO_LONG of `search`.
    """

    def __init__(self, tensors: Tensors, sets: HeavySets, settings: TreeSettings) -> None:
        self._settings, self._nodes = settings, tensors.nodes
        self.rule, self.state = start_search(tensors, sets, settings)
        self.ended = search.RUNNING

    def run(self, budget: Budget, until: float = np.inf) -> int:
        """Search until it ends or time is up, all or so much of it; return how it ended."""
        branches = max(1, self._settings.turn // self._nodes)
        while self.ended == search.RUNNING and not budget.is_spent() and budget.spent() < until:
            self.ended = search.proceed(self.rule, self.state, branches)
        return self.ended

    def found(self) -> int:
        """Return the set that was found, and go on without it: the proof has a gap from here on."""
        sides = self.state.sides[self.state.counts[search.DEPTH]]
        self.state.counts[search.DEPTH] -= 1
        self.state.counts[search.IS_NEW] = 0
        self.ended = search.RUNNING
        return members_where(sides == search.INSIDE)

    def more_found(self, budget: Budget, until: float = np.inf) -> list[int]:
        """Return the set that was found and those found next, at most `MOST_FOUND`."""
        sets = [self.found()]
        while len(sets) < MOST_FOUND and self.run(budget, until) == search.FOUND:
            sets.append(self.found())
        return sets

    @property
    def part(self) -> float:
        """Part of what a certificate may take that this one takes."""
        counts, settings = self.state.counts, self._settings
        return float(
            max(
                counts[search.WRITTEN] / settings.most_numbers,
                counts[search.STEPS] / settings.most_steps,
            )
        )

    def proof(self) -> dict[str, Any]:
        """Return the proof as certificates hold it."""
        numbers: list[int] = self.state.written[: self.state.counts[search.WRITTEN]].tolist()
        nodes, at = [], 0
        while at < len(numbers):
            end = at + 1 + numbers[at]
            nodes.append(numbers[at + 1 : end])
            at = end
        return {"scale": int(self.rule.scalars[search.SCALE]), "nodes": nodes}


@dataclass(eq=False)
class Ends:
    """The largest weights that the first and the last stage may have.

    Attributes
    ----------
    most
        Their weights.
    proofs
        For the certificate, the first stage's first; less than two if one was not bounded.
    found
        Sets that were found to be heavier than known before.
    ended
        How the last tree ended; RUNNING if time or weights did not suffice.
    steps
        That the checker takes for both proofs, about.
    share
        The largest part of the excess that was needed, as `TreeSettings.end_share` has it.
    """

    most: list[int]
    proofs: list[dict[str, Any]] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    ended: int = search.RUNNING
    steps: int = 0
    share: float = 0.0

    @property
    def is_bounded(self) -> bool:
        """Whether both are proven."""
        return len(self.proofs) == 2

    def least_of_others(self, weights: IntArray, others: int) -> int:
        """Return what one of the other stages weighs at least, of which there is one or more."""
        return -(-(int(weights.sum()) - sum(self.most)) // others)


def bounded_ends(
    tensors: Tensors,
    weights: IntArray,
    limit: int,
    known: Sequence[int],
    others: int,
    settings: TreeSettings,
    budget: Budget,
) -> Ends:
    """Find what first and last stage weigh at most, so that weights still refute a limit."""
    ends = Ends([int(weight) for weight in known[1:]])
    total, others_most = int(weights.sum()), others * int(known[0])
    # Each of the two trees may take an eighth of a certificate.
    small = replace(
        settings, most_steps=settings.most_steps // 8, most_numbers=settings.most_numbers // 8
    )
    # The share is doubled when a tree takes too long, up to this one.
    most_share = 2.0
    for end, position in enumerate((FIRST, LAST)):
        share = settings.end_share if others else 1.0
        while len(ends.proofs) == end:
            excess = total - others_most - sum(ends.most)
            if excess <= 0 or share > most_share or budget.is_spent():
                return ends
            most = ends.most[end]
            more = int(share * excess * most / max(1, total - excess))
            most += min(more, excess - 1)
            tree = Tree(tensors, HeavySets(weights, most + 1, limit, position), small)
            ends.ended = tree.run(budget)
            if ends.ended == search.REFUTED:
                ends.most[end], ends.share = most, max(ends.share, share)
                ends.steps += int(tree.state.counts[search.STEPS]) + tensors.nodes**2 // 4
                ends.proofs.append({"most": most, **tree.proof()})
            elif ends.ended == search.FOUND:
                ends.found += (found := tree.more_found(budget))
                heaviest = max(int(weights[list(bits_of(members))].sum()) for members in found)
                ends.most[end] = heaviest
            elif ends.ended == search.TOO_LONG:
                share *= 2
    return ends


def start_search(tensors: Tensors, sets: HeavySets, settings: TreeSettings) -> tuple[Rule, Search]:
    """Return the rule of a search for sets, and its state at the beginning."""
    graph, n, weights = tensors.graph, tensors.nodes, sets.weights
    limit, least, m = sets.limit, sets.least, graph.dag.edges
    total = int(graph.work.sum()) + 4 * int(graph.transfer.sum()) + limit
    # Flows are counted in parts of a tick, of which so many are a price's units at the beginning.
    wanted = -(-(2**10) * max(1, least) // max(1, limit))
    largest_price = 2**60 // max(1, int(weights.sum()))
    # Prices begin far enough below the largest one to rise.
    payable = largest_price * max(1, least) // (4 * max(1, limit))
    scale = max(1, min(wanted, payable, 2**58 // max(1, total)))
    arcs = _Arcs.of(graph, sets.position, 4 * total)
    most_steps, position = settings.most_steps, sets.position
    scalars = [limit, least, scale, largest_price, graph.cache, most_steps, position]
    rule = Rule(
        before=packed(tensors.before, n),
        after=packed(tensors.after, n),
        sources=frozen(graph.dag.sources),
        targets=frozen(graph.dag.targets),
        out_start=frozen(graph.dag.consumer_start),
        in_start=graph.dag.producer_start,
        in_edges=frozen(np.argsort(graph.dag.targets, kind="stable")),
        work=frozen(graph.work),
        load=frozen(graph.param_load),
        transfer=frozen(graph.transfer),
        weights=frozen(weights),
        around=frozen(transfers_around(graph)),
        arc_start=arcs.start,
        head=arcs.head,
        reverse=arcs.reverse,
        sent=arcs.sent,
        returned=arcs.returned,
        halved=arcs.halved,
        scalars=frozen(scalars),
    )
    price = min(scale * limit // max(1, least), largest_price)
    counts = np.array([0, 1, price, 0, 0, 0], dtype=np.int64)
    state = Search(
        residual=scale * arcs.room,
        added=scale * graph.work - price * weights,
        told=np.zeros(m, dtype=np.int64),
        sides=np.zeros((n + 2, n), dtype=np.int8),
        branched=np.zeros(n + 2, dtype=np.int64),
        side=np.zeros(n + 2, dtype=np.int64),
        prices=np.zeros(n + 2, dtype=np.int64),
        written=np.zeros(settings.most_numbers, dtype=np.int64),
        counts=counts,
    )
    return rule, state


@dataclass(frozen=True)
class _Arcs:
    """The network of flows through tensors, as `search.Rule` has it.

    Attributes
    ----------
    room
        What each arc has room for at the beginning, in ticks.
    """

    start: IndexArray
    head: IndexArray
    reverse: IndexArray
    room: IntArray
    sent: IntArray
    returned: IntArray
    halved: IntArray

    @classmethod
    def of(cls, graph: PipelineGraph, position: int, much: int) -> "_Arcs":
        """Return the arcs of a graph, each beside others from the same vertex."""
        n, m = graph.dag.nodes, graph.dag.edges
        consumers = np.diff(graph.dag.consumer_start)
        # Each arc is followed by the one back. To and from consumers, no flow is larger than the
        # tensor's room.
        pairs: list[tuple[int, int, int, int]] = []
        sent, returned, halved = [0] * m, [0] * m, [0] * m
        for u in range(n):
            room = int(graph.transfer[u])
            out = much if position == LAST else room
            back = much if position == FIRST else room
            edges = range(graph.dag.consumer_start[u], graph.dag.consumer_start[u + 1])
            if consumers[u] == 1 and position == ANY:
                (e,) = edges
                sent[e], returned[e], halved[e] = 2 * len(pairs) + 1, 2 * len(pairs), 1
                pairs.append((u, int(graph.dag.targets[e]), out, back))
                continue
            if consumers[u]:
                pairs += [(u, n + u, out, 0), (2 * n + u, u, back, 0)]
            for e in edges:
                w = int(graph.dag.targets[e])
                sent[e], returned[e] = 2 * len(pairs) + 1, 2 * len(pairs) + 3
                pairs += [(n + u, w, out, 0), (w, 2 * n + u, back, 0)]
        tails = np.array([end for pair in pairs for end in pair[:2]], dtype=np.int64)
        heads = np.array([end for pair in pairs for end in pair[1::-1]], dtype=np.int64)
        rooms = np.array([room for pair in pairs for room in pair[2:]], dtype=np.int64)
        order = np.argsort(tails, kind="stable")
        place = np.argsort(order, kind="stable")
        return cls(
            start=_indices(np.searchsorted(tails[order], np.arange(3 * n + 1))),
            head=_indices(heads[order]),
            reverse=_indices(place[order ^ 1]),
            room=frozen(rooms[order]),
            sent=frozen(place[sent]),
            returned=frozen(place[returned]),
            halved=frozen(halved),
        )


def _indices(numbers: IntArray) -> IndexArray:
    result = numbers.astype(np.uint64)
    result.flags.writeable = False
    return result
