"""Checks the kind two-branch-dp: searches pairs of down-sets, in a tower and beside it."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..sets import as_bits, members
from ..values import LARGEST_AMOUNT, Rejected, TooLarge, fields, integer, integers
from . import limits
from .instance import Instance

# What is kept of each stage of a side, at most.
STAGE_BYTES = 64

# Sums of costs of stages are counted up to here.
NEVER = 2**60

# Stages to one down-set are compared with many firsts at a time, and so many times in a step.
CHUNK = 64
CHUNKS_PER_STEP = 8


def two_branch_dp(graph: Instance, payload: Any) -> int:
    """Return the threshold + 1 if the search of pairs of down-sets refutes it."""
    if len(graph.work) > limits.LARGEST_TOWER_GRAPH:
        raise TooLarge(f"the instance has more than {limits.LARGEST_TOWER_GRAPH:,} nodes")
    payload = fields(payload, "the payload", {"threshold", "tower"})
    threshold = integer(payload["threshold"], "threshold of the payload", -1, LARGEST_AMOUNT)
    tower = set(integers(payload["tower"], "tower of the payload", 0, len(graph.work) - 1))
    for u, w in graph.edges:
        if w in tower and u not in tower:
            raise Rejected(f"node {w} is in the tower, but not its producer {u}")
    if PairSearch(*sides(graph, tower), threshold).reaches_the_end(graph.k):
        raise Rejected("the pairs of down-sets do not refute the threshold")
    return threshold + 1


def sides(graph: Instance, tower: set[int]) -> tuple["Side", "Side"]:
    """Return the tower and the nodes beside it, with nodes merged that can share a stage for free.

    Raises `TooLarge` if one of them has too many down-sets.
    """
    spend(4 * (len(graph.work) + len(graph.edges)))
    producers: list[list[int]] = [[] for _ in graph.work]
    consumers: list[list[int]] = [[] for _ in graph.work]
    for u, w in graph.edges:
        producers[w].append(u)
        consumers[u].append(w)
    merged = _merged(graph, producers, consumers, tower)
    beside = set(range(len(graph.work))) - tower
    return Side(graph, consumers, merged, tower), Side(graph, consumers, merged, beside)


def _merged(
    graph: Instance, producers: list[list[int]], consumers: list[list[int]], tower: set[int]
) -> list[int]:
    """Return for each node a member of its group, the same one for all nodes of a group.

    A node moves to the stage of its only producer, which has no other consumer, if its own work and
    transfer are no more than that producer's transfer; or to the stage of its only consumer, if its
    work and the transfers of its producers are no more than its own transfer. No stage's cost grows
    by such a move, wherever other nodes are, and no cycle appears. Each node makes one move at
    most, after the neighbour that it follows.
    """
    is_cached = sum(graph.param_load) <= graph.cache
    leader = list(range(len(graph.work)))

    def find(v: int) -> int:
        while leader[v] != v:
            leader[v] = leader[leader[v]]
            v = leader[v]
        return v

    for v in range(len(graph.work)):
        if graph.param_load[v] and not is_cached:
            continue
        sent = graph.transfer[v] if consumers[v] else 0
        if len(producers[v]) == 1:
            (u,) = producers[v]
            is_alone = len(consumers[u]) == 1 and (u in tower) == (v in tower)
            if is_alone and graph.work[v] + sent <= graph.transfer[u]:
                leader[find(v)] = find(u)
                continue
        if len(consumers[v]) == 1:
            (w,) = consumers[v]
            read = sum(graph.transfer[u] for u in producers[v])
            if (v in tower) == (w in tower) and graph.work[v] + read <= sent:
                leader[find(v)] = find(w)
    return [find(v) for v in range(len(graph.work))]


class Stage(NamedTuple):
    """A stage's part on one side: the nodes that a larger down-set has beyond a smaller one."""

    # Number of the larger down-set.
    after: int
    # Ticks, without tensors between the sides.
    cost: int
    # Transfers of tensors that have consumers outside of the stage on the other side only.
    sent: int
    # Groups of the other side whose tensors it reads, as bits.
    read: int


class Side:
    """One side's groups of nodes, and all its down-sets, numbered by size."""

    def __init__(
        self, graph: Instance, consumers: list[list[int]], merged: list[int], nodes: set[int]
    ) -> None:
        leaders = sorted({merged[v] for v in nodes})
        number = {leader: i for i, leader in enumerate(leaders)}
        others = sorted({merged[v] for v in range(len(merged)) if v not in nodes})
        number_there = {leader: i for i, leader in enumerate(others)}
        size = len(leaders)
        self._cache = graph.cache
        # Nodes of each group.
        self.groups: list[list[int]] = [[] for _ in range(size)]
        # By group, the last one: the transfer of the one tensor that leaves it.
        self._work, self._load, self.transfer = [0] * size, [0] * size, [0] * size
        self._is_read_here, self._is_sent = [False] * size, [False] * size
        self._producers, self._consumers = [0] * size, [0] * size
        self._read = [0] * size
        for v in sorted(nodes):
            group = number[merged[v]]
            self.groups[group].append(v)
            self._work[group] += graph.work[v]
            self._load[group] += graph.param_load[v]
        for u in range(len(merged)):
            for w in consumers[u]:
                if merged[u] == merged[w]:
                    continue
                if u in nodes:
                    group = number[merged[u]]
                    self.transfer[group] = graph.transfer[u]
                    if w in nodes:
                        self._is_read_here[group] = True
                        self._consumers[group] |= 1 << number[merged[w]]
                        self._producers[number[merged[w]]] |= 1 << group
                    else:
                        self._is_sent[group] = True
                elif w in nodes:
                    self._read[number[merged[w]]] |= 1 << number_there[merged[u]]
        self._find_ideals()

    def _find_ideals(self) -> None:
        size = len(self.groups)
        number = {0: 0}
        # The down-sets: groups, as bits, the first empty, the last with all; and the groups of the
        # other side whose tensors each reads, as bits.
        self.ideals, self.read = [0], [0]
        # For each down-set, the groups that may come next, and with each the larger down-set, and
        # the producers whose tensors are read for the last time.
        self._steps: list[list[tuple[int, int, int]]] = []
        ready = [[v for v in range(size) if not self._producers[v]]]
        # The list grows while it is read.
        for i, ideal in enumerate(self.ideals):
            spend(2 + 4 * len(ready[i]))
            steps = []
            for v in ready[i]:
                after = ideal | 1 << v
                last = 0
                spend(2 * self._producers[v].bit_count())
                for u in members(self._producers[v]):
                    if not self._consumers[u] & ~after:
                        last |= 1 << u
                if after not in number:
                    if len(self.ideals) == limits.MOST_TOWER_IDEALS:
                        raise TooLarge("a side of the tower has too many down-sets to check")
                    number[after] = len(self.ideals)
                    self.ideals.append(after)
                    spend(2 * self._consumers[v].bit_count() + len(ready[i]) + size // 64)
                    opened = [
                        w for w in members(self._consumers[v]) if not self._producers[w] & ~after
                    ]
                    ready.append([w for w in ready[i] if w != v] + opened)
                    self.read.append(self.read[i] | self._read[v])
                steps.append((number[after], v, last))
            self._steps.append(steps)

    def stages_from(self, first: int, threshold: int) -> list[Stage]:
        """Return the stages within the threshold that begin at a down-set."""
        found = []
        before = self.ideals[first]
        seen = {first}
        # A down-set; work, load and transfers in and out of what it has beyond the first, those out
        # to this side and to both; groups of the first that it does not read yet; what it reads.
        stack = [(first, 0, 0, 0, 0, 0, before, 0)]
        while stack:
            ideal, work, load, entering, leaving, sent, unread, read = stack.pop()
            known = len(seen)
            for after, v, last in self._steps[ideal]:
                if after in seen:
                    continue
                seen.add(after)
                more = self._producers[v] & unread
                now_entering = entering + self._sum(more) if more else entering
                now_work, now_load = work + self._work[v], load + self._load[v]
                # None of these costs becomes less as groups are added.
                cost = now_work + now_entering + max(0, now_load - self._cache)
                if cost > threshold:
                    continue
                now_leaving, now_sent = leaving, sent
                if self._is_read_here[v]:
                    now_leaving += self.transfer[v]
                elif self._is_sent[v]:
                    now_sent += self.transfer[v]
                for u in members(last & ~before):
                    spend(1)
                    now_leaving -= self.transfer[u]
                    now_sent += self.transfer[u] if self._is_sent[u] else 0
                now_read = read | self._read[v]
                now_unread = unread & ~more
                stack.append(
                    (
                        after,
                        now_work,
                        now_load,
                        now_entering,
                        now_leaving,
                        now_sent,
                        now_unread,
                        now_read,
                    )
                )
                if cost + now_leaving <= threshold:
                    found.append(Stage(after, cost + now_leaving, now_sent, now_read))
            spend(2 * (1 + len(seen) - known))
        return found

    def _sum(self, groups: int) -> int:
        """Return the transfers of some groups."""
        total = 0
        for v in members(groups):
            spend(1)
            total += self.transfer[v]
        return total


class _Front(NamedTuple):
    """Down-sets by the least cost of a stage that leads to them."""

    # In ascending order.
    costs: list[int]
    # One entry more: down-sets of the first i costs, as bits.
    within: list[int]

    def up_to(self, room: int) -> int:
        """Return the down-sets, as bits, that cost no more than some ticks."""
        return self.within[bisect_right(self.costs, room)]


class Sources:
    """Stages by the down-set that they lead to, cheapest first."""

    def __init__(self, size: int) -> None:
        # costs, firsts: By that down-set: the costs, and the down-sets where the stages begin.
        self.costs = [array("q") for _ in range(size)]
        self.firsts = [array("q") for _ in range(size)]
        # Down-sets that stages lead to; and by these, the firsts of so many stages at a time.
        self._ends = 0
        self._chunks: list[list[int]] = [[] for _ in range(size)]

    def add(self, after: int, cost: int, first: int) -> None:
        """Add a stage."""
        self.costs[after].append(cost)
        self.firsts[after].append(first)

    def sort(self) -> None:
        """Sort the stages to each down-set by cost."""
        for after, costs in enumerate(self.costs):
            if not costs:
                continue
            self._ends |= 1 << after
            order = sorted(range(len(costs)), key=costs.__getitem__)
            firsts = [self.firsts[after][i] for i in order]
            self.costs[after] = array("q", (costs[i] for i in order))
            self.firsts[after] = array("q", firsts)
            self._chunks[after] = [
                as_bits(firsts[i : i + CHUNK]) for i in range(0, len(firsts), CHUNK)
            ]

    def cheapest(self, targets: int, firsts: int) -> Iterator[tuple[int, int]]:
        """Yield cost and end of the cheapest stage to each target that begins at some firsts."""
        for target in members(targets & self._ends):
            tried = 0
            for tried, chunk in enumerate(self._chunks[target]):
                if chunk & firsts:
                    places = range(CHUNK * tried, len(self.firsts[target]))
                    found = next(i for i in places if firsts >> self.firsts[target][i] & 1)
                    yield self.costs[target][found], target
                    break
            spend(2 + tried // CHUNKS_PER_STEP)


class TowerStages(NamedTuple):
    """Stages of the tower that begin at one down-set: see `Stage`."""

    after: "array[int]"
    cost: "array[int]"
    sent: "array[int]"


class PairSearch:
    """Breadth-first search over pairs of down-sets, from both empty to both complete."""

    def __init__(self, inner: Side, outer: Side, threshold: int) -> None:
        self._threshold = threshold
        self._size = size = len(outer.ideals)
        self._targets = [0] * size
        # Stages beside the tower that read none of its tensors; the others without what they read,
        # for stages with a part of the tower; and with it, for stages without.
        self.plain, self.reading, self.alone = Sources(size), Sources(size), Sources(size)
        # By down-set beside the tower, and of it: the least sum of costs of stages with all that is
        # outside, `NEVER` if that is more or there are none.
        self.outer_rest, self.inner_rest = [NEVER] * size, [NEVER] * len(inner.ideals)
        self.outer_rest[-1] = self.inner_rest[-1] = 0
        count = 0
        # Larger down-sets have larger numbers.
        for first in range(size - 2, -1, -1):
            stages = outer.stages_from(first, threshold)
            count += len(stages)
            hold(STAGE_BYTES * count)
            spend(2 * len(stages))
            for after, cost, _, read in stages:
                self.outer_rest[first] = min(self.outer_rest[first], cost + self.outer_rest[after])
                self._targets[first] |= 1 << after
                if not read:
                    self.plain.add(after, cost, first)
                    continue
                self.reading.add(after, cost, first)
                spend(2 * read.bit_count())
                cost += sum(inner.transfer[u] for u in members(read))
                if cost <= threshold:
                    self.alone.add(after, cost, first)
        for sources in (self.plain, self.reading, self.alone):
            sources.sort()
        # The tower's stages by the down-set where they begin.
        self.stages = [TowerStages(array("q"), array("q"), array("q"))] * len(inner.ideals)
        for first in range(len(inner.ideals) - 2, -1, -1):
            stages = inner.stages_from(first, threshold)
            count += len(stages)
            hold(STAGE_BYTES * count)
            columns = ((stage[i] for stage in stages) for i in range(3))
            self.stages[first] = TowerStages(*(array("q", column) for column in columns))
            rests = (stage.cost + self.inner_rest[stage.after] for stage in stages)
            self.inner_rest[first] = min([NEVER, *rests])
        hold(size * (size + 2 * len(inner.ideals)) // 4)
        spend(len(inner.ideals) * size)
        # By down-set of the tower: those beside it that read from nowhere else, as bits.
        self.allowed = [
            as_bits(i for i, read in enumerate(outer.read) if not read & ~ideal)
            for ideal in inner.ideals
        ]
        self._by_rest = _front((rest, i) for i, rest in enumerate(self.outer_rest))

    def reaches_the_end(self, k: int) -> bool:
        """Whether k stages may suffice for all groups."""
        last = len(self.stages) - 1
        reached = [0] * len(self.stages)
        reached[0] = 1
        level = {0: 1}
        for left in range(min(k, len(self.stages) + self._size), 0, -1):
            after_level: dict[int, int] = {}
            for number, ideals in level.items():
                # Others cannot reach the end with the stages left.
                room = left * self._threshold - self.inner_rest[number]
                found = self._after(number, ideals & self._by_rest.up_to(room))
                for after, ends in found.items():
                    new = ends & self.allowed[after] & ~reached[after]
                    if new:
                        reached[after] |= new
                        after_level[after] = after_level.get(after, 0) | new
            if reached[last] >> self._size - 1 & 1:
                return True
            level = after_level
        return False

    def _after(self, number: int, ideals: int) -> dict[int, int]:
        """Return by down-set of the tower those beside it that one stage leads to."""
        # `number`: Of a down-set of the tower. `ideals`: Down-sets beside it, as bits.
        if not ideals:
            return {}
        targets = 0
        for first in members(ideals):
            targets |= self._targets[first]
        spend(ideals.bit_count() + targets.bit_count() + 2 * len(self.stages[number].after))
        stay = ((0, first) for first in members(ideals))
        plain = _front([*stay, *self.plain.cheapest(targets & ~ideals, ideals)])
        reading = _front(self.reading.cheapest(targets, ideals))
        alone = _front(self.alone.cheapest(targets, ideals))
        t = self._threshold
        found = {number: plain.up_to(t) | alone.up_to(t)}
        for after, cost, sent in zip(*self.stages[number], strict=True):
            ends = plain.up_to(t - cost - sent) | reading.up_to(t - cost)
            if ends:
                found[after] = found.get(after, 0) | ends
        return found


def _front(ends: Iterable[tuple[int, int]]) -> _Front:
    """Return the front of pairs of a cost and a down-set."""
    ordered = sorted(ends)
    within = [0]
    for _, ideal in ordered:
        within.append(within[-1] | 1 << ideal)
    return _Front([cost for cost, _ in ordered], within)
