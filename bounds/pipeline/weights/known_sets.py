"""Sets of nodes that are known to be possible stages, and walks among them towards heavy ones.

`walk` puts the best node in or out in each step, by what it adds to the weight less a price of what
it adds to the cost; a node just moved waits. The price rises above the limit and falls below it.

`anneal` tries random nodes, and pairs of them, by the rule of [METROPOLIS53]. It tries hundreds of
moves in the time of one step, and finds heavier sets where transfers outweigh work; `walk` finds
heavier ones where work does.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from scipy.sparse import csr_array

from boundmark.bounds.pipeline.weights.tensors import (
    ANY,
    FIRST,
    LAST,
    BitSets,
    FloatArray,
    Tensors,
    bits_of,
    lowest,
    members_where,
    packed,
)
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, internal
from boundmark.problems.method import Budget
from boundmark.problems.pipeline import Partition

# ruff: noqa: NPY002 - numba's own generator, seeded by the caller.

Mask = npt.NDArray[np.bool_]
BoolMatrix = npt.NDArray[np.bool_]
FloatVector = npt.NDArray[np.float64]

POSITIONS = (ANY, FIRST, LAST)


class WalkGraph(NamedTuple):
    """A graph, as walks use it.

    Attributes
    ----------
    before, after
        What each node depends on, and what depends on it, at any distance: bit sets, a row of words
        for each node.
    work, transfer
        Ticks, shape (n,).
    consumers
        Number of consumers of each node.
    in_start, producers
        Node v reads ``producers[in_start[v] : in_start[v + 1]]``.
    """

    before: BitSets
    after: BitSets
    work: IntArray
    transfer: IntArray
    consumers: IntArray
    in_start: IntArray
    producers: IntArray


class _Place(NamedTuple):
    """The set that a walk is at, and what is around it.

    Attributes
    ----------
    inside, bits
        The set, as a mask and as a bit set.
    read
        How many consumers of each node are inside.
    before, after
        The nodes before a member, and those after one, as bit sets.
    followed, preceded
        How many members each node is before, and how many it is after.
    """

    inside: Mask
    bits: BitSets
    read: IntArray
    before: BitSets
    after: BitSets
    followed: IntArray
    preceded: IntArray


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_BIT_ROWS = types.Array(types.uint64, 2, "C", readonly=True)
_BITS = types.Array(types.uint64, 1, "C")
_VECTOR = types.Array(types.int64, 1, "C")
_MASK = types.Array(types.boolean, 1, "C")
_FLOATS = types.Array(types.float64, 1, "C")
_FOUND = types.Array(types.boolean, 2, "C")
_GRAPH = types.NamedTuple([_BIT_ROWS] * 2 + [_INPUT] * 5, WalkGraph)  # type: ignore[no-untyped-call]
_PLACE = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_MASK, _BITS, _VECTOR, _BITS, _BITS, _VECTOR, _VECTOR], _Place
)
_ONE = np.uint64(1)


@compiled([types.void(_BITS, _BIT_ROWS, _VECTOR, _INT, _INT)])
def _count(bits: BitSets, rows: BitSets, counts: IntArray, v: int, more: int) -> None:
    """Count a node in or out for all nodes of its row; `bits` are those counted for any."""
    for j in range(len(bits)):
        rest = rows[v, j]
        while rest:
            u = (j << 6) + lowest(rest)
            low = rest & (~rest + _ONE)
            rest ^= low
            counts[u] += more
            if counts[u] == 0:
                bits[j] &= ~low
            else:
                bits[j] |= low


@internal([types.void(_INT, _INT, _GRAPH, _PLACE)])
def _move(v: int, more: int, g: WalkGraph, at: _Place) -> None:
    """Put a node in, with `more` of 1, or take it out, with -1."""
    at.inside[v] = more > 0
    at.bits[v >> 6] ^= _ONE << np.uint64(v & 63)
    for i in range(g.in_start[v], g.in_start[v + 1]):
        at.read[g.producers[i]] += more
    _count(at.before, g.before, at.followed, v, more)
    _count(at.after, g.after, at.preceded, v, more)


@internal([_PLACE(_MASK, _GRAPH)])
def _place(start: Mask, g: WalkGraph) -> _Place:
    """Return the place of a set."""
    n, words = g.before.shape
    at = _Place(
        np.zeros(n, np.bool_),
        np.zeros(words, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )
    for v in range(n):
        if start[v]:
            _move(v, 1, g, at)
    return at


@internal([_INT(_GRAPH, _PLACE)])
def _cost(g: WalkGraph, at: _Place) -> int:
    """Return what the set costs without overflow."""
    cost = 0
    for v in range(len(at.inside)):
        if at.inside[v]:
            cost += g.work[v]
        if g.consumers[v] > at.read[v] if at.inside[v] else at.read[v] > 0:
            cost += g.transfer[v]
    return cost


@internal([_INT(_INT, _INT, _GRAPH, _PLACE)])
def _added_cost(v: int, more: int, g: WalkGraph, at: _Place) -> int:
    """Return by how much the cost rises if a node enters, or leaves with `more` of -1."""
    read, inside, transfer = at.read, at.inside, g.transfer
    added: int = more * g.work[v]
    is_read, is_left = read[v] > 0, g.consumers[v] > read[v]
    if is_read != is_left:
        added += more * transfer[v] if is_left else -more * transfer[v]
    for i in range(g.in_start[v], g.in_start[v + 1]):
        u = g.producers[i]
        if inside[u]:
            if more > 0:
                added -= transfer[u] if read[u] + 1 == g.consumers[u] else 0
            else:
                added += transfer[u] if read[u] == g.consumers[u] else 0
        elif more > 0:
            added += transfer[u] if read[u] == 0 else 0
        else:
            added -= transfer[u] if read[u] == 1 else 0
    return added


@internal([types.boolean(_INT, _INT, _GRAPH, _PLACE)])
def _can_move(v: int, position: int, g: WalkGraph, at: _Place) -> bool:
    """Whether the set may still be a stage at a position after a node has entered or left."""
    has_before, has_after, is_apart = False, False, False
    for j in range(len(at.bits)):
        has_before |= (g.before[v, j] & at.bits[j]) != 0
        has_after |= (g.after[v, j] & at.bits[j]) != 0
        if position != LAST:
            needed = g.before[v, j] if position == FIRST else at.after[j] & g.before[v, j]
            is_apart |= (needed & ~at.bits[j]) != 0
        if position != FIRST:
            needed = g.after[v, j] if position == LAST else at.before[j] & g.after[v, j]
            is_apart |= (needed & ~at.bits[j]) != 0
    is_between = (has_before or position == FIRST) and (has_after or position == LAST)
    return not (is_between if at.inside[v] else is_apart)


@compiled([_INT(_MASK, _GRAPH, _FLOATS, *(_INT,) * 4, _FOUND)])
def walk(
    start: Mask,
    g: WalkGraph,
    weights: FloatVector,
    limit: int,
    position: int,
    steps: int,
    seed: int,
    found: Mask,
) -> int:
    """Walk for a number of steps; return how many sets were found."""
    np.random.seed(seed)
    n, at = len(start), _place(start, g)
    # The step until which a node waits.
    waits = np.zeros(n, np.int64)
    cost, heaviest, count = _cost(g, at), 0.0, 0
    weight = weights[start].sum()
    usual = 1.0 / max(1, limit)
    price = usual
    for step in range(steps):
        if cost <= limit and weight > heaviest * 1.000001:
            heaviest = weight
            count = min(count, len(found) - 1)
            found[count] = at.inside
            count += 1
        chosen, most, change = -1, -np.inf, 0
        for v in range(n):
            if not _can_move(v, position, g, at):
                continue
            # The sign is that of what leaves or enters the set.
            more = -1 if at.inside[v] else 1
            added = _added_cost(v, more, g, at)
            is_best = more > 0 and cost + added <= limit and weight + weights[v] > heaviest
            if waits[v] > step and not is_best:
                continue
            gain = more * weights[v] - price * added
            if gain > most:
                chosen, most, change = v, gain, added
        if chosen < 0:
            continue
        more = -1 if at.inside[chosen] else 1
        _move(chosen, more, g, at)
        weight += more * weights[chosen]
        cost += change
        waits[chosen] = step + 5 + int(np.random.random() * 15)
        price = min(max(price * 1.03 if cost > limit else price / 1.03, usual / 5), usual * 5)
    return count


@compiled([_INT(_INT, types.boolean, _INT, _PLACE)])
def _next(start: int, is_inside: bool, besides: int, at: _Place) -> int:
    """Return the first node inside, or outside, from a node on, around the end; -1 if none is."""
    n = len(at.inside)
    for step in range(n):
        v = start + step
        if v >= n:
            v -= n
        if at.inside[v] == is_inside and v != besides:
            return v
    return -1


@compiled([_INT(_MASK, _GRAPH, _FLOATS, *(_INT,) * 4, types.float64, _FOUND)])
def anneal(
    start: Mask,
    g: WalkGraph,
    weights: FloatVector,
    limit: int,
    position: int,
    moves: int,
    seed: int,
    cold: float,
    found: Mask,
) -> int:
    """Cool down once; return how many sets were found."""
    hot = 0.5
    # In weights of a stage, for each limit by which the cost exceeds the limit.
    penalty = 2.0
    # Part of the refused moves that are tried together with one in the other direction.
    paired = 0.4
    np.random.seed(seed)
    n, at = len(start), _place(start, g)
    cost, heaviest, count = _cost(g, at), 0.0, 0
    weight = weights[start].sum()
    price = penalty / max(1, limit)
    # Nodes may weigh nothing, at the beginning: those of a graph without work.
    temperature = max(hot * weights.mean(), 1e-12)
    cooling = (cold / hot) ** (1.0 / max(1, moves))
    for _ in range(moves):
        temperature *= cooling
        if cost <= limit and weight > heaviest * 1.000001:
            heaviest = weight
            count = min(count, len(found) - 1)
            found[count] = at.inside
            count += 1
        v = int(np.random.random() * n)
        if not _can_move(v, position, g, at):
            continue
        more = -1 if at.inside[v] else 1
        before, changed = max(0, cost - limit), cost + _added_cost(v, more, g, at)
        rise = price * (max(0, changed - limit) - before) - more * weights[v]
        is_accepted = rise <= 0 or np.random.random() < np.exp(-rise / temperature)
        if not is_accepted and np.random.random() >= paired:
            continue
        _move(v, more, g, at)
        gain = more * weights[v]
        if not is_accepted:
            # Another node goes the other way.
            other = _next(int(np.random.random() * n), more > 0, v, at)
            if other >= 0 and _can_move(other, position, g, at):
                changed += _added_cost(other, -more, g, at)
                gain -= more * weights[other]
                rise = price * (max(0, changed - limit) - before) - gain
                is_accepted = rise <= 0 or np.random.random() < np.exp(-rise / temperature)
            if not is_accepted:
                _move(v, -more, g, at)
                continue
            _move(other, -more, g, at)
        weight += gain
        cost = changed
    return count


@dataclass(eq=False)
class KnownSets:
    """Convex sets of one graph, found by walks or added.

    Overflow counts in what sets cost, but walks do not see it.

    Attributes
    ----------
    annealed
        Part of the walks that are by annealing.
    costs
        What each set costs, by its bits.
    """

    tensors: Tensors
    seed: int
    annealed: float = 0.8
    costs: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dag, nodes = self.tensors.graph.dag, self.tensors.nodes
        self._random = np.random.default_rng(self.seed)
        self._graph = WalkGraph(
            before=packed(self.tensors.before, nodes),
            after=packed(self.tensors.after, nodes),
            work=frozen(self.tensors.graph.work),
            transfer=frozen(self.tensors.graph.transfer),
            consumers=frozen(np.diff(dag.consumer_start)),
            in_start=dag.producer_start,
            producers=dag.producers,
        )
        ends = [(u, v) for u in range(nodes) for v in bits_of(self.tensors.ends[u])]
        self._sets, self._count = np.zeros((64, nodes)), 0
        # What sets weigh, by weights: those used last are at the end.
        self._weighed: dict[bytes, FloatArray] = {}
        self._costs: IntArray = np.zeros(64, dtype=np.int64)
        # Which stages each set may be, by position.
        self._may_be = np.zeros((len(POSITIONS), 64), dtype=np.bool_)
        at = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        shape = (nodes, nodes)
        self._ends = csr_array((np.ones(at.shape[1], dtype=np.int64), (at[0], at[1])), shape=shape)
        self._end_counts = np.bincount(at[0], minlength=nodes)

    def masks(self, numbers: IntArray) -> FloatArray:
        """Return sets as rows of 0 and 1, shape (len(numbers), n)."""
        masks: FloatArray = self._sets[numbers]
        return masks

    def costs_of(self, numbers: IntArray) -> IntArray:
        """Return what sets cost."""
        costs: IntArray = self._costs[numbers]
        return costs

    def add(self, members: int) -> bool:
        """Add a set; return whether it is new."""
        if not members:
            return False
        return self.add_all(as_mask(members, self.tensors.nodes)[None]) > 0

    def add_stages(self, partition: Partition) -> None:
        """Add the stages of a partition."""
        for stage in range(int(partition.stages.max()) + 1):
            self.add(members_where(partition.stages == stage))

    def weighed(self, weights: FloatArray, limit: int, position: int = ANY) -> FloatArray:
        """Return what each set weighs, 0 for those that cost more or may not be such a stage."""
        key = weights.tobytes()
        whole = self._weighed.pop(key, np.zeros(0))
        if len(whole) < self._count:
            more = self._sets[len(whole) : self._count] @ weights
            whole = np.concatenate([whole, more])
        self._weighed[key] = whole
        # A round looks at few weights, again and again.
        if len(self._weighed) > 4:
            del self._weighed[next(iter(self._weighed))]
        counts = self._may_be[position, : self._count] & (self._costs[: self._count] <= limit)
        weighed: FloatArray = np.where(counts, whole, 0.0)
        return weighed

    def heaviest(self, weights: FloatArray, limit: int, position: int = ANY) -> float:
        """Return what the heaviest set that may be such a stage weighs, 0 if there is none."""
        return float(self.weighed(weights, limit, position).max(initial=0.0))

    def heaviest_sets(self, weights: FloatArray, limit: int) -> list[int]:
        """Return the sets that cost at most a limit, heaviest first."""
        sets, weighed = list(self.costs), self.weighed(weights, limit)
        order = np.argsort(-weighed, kind="stable")
        return [sets[i] for i in order.tolist() if self._costs[i] <= limit]

    def walk(self, weights: FloatArray, limit: int, position: int, budget: Budget) -> None:
        """Add heavy sets, by walks from the heaviest ones known and from single nodes."""
        walks = 6 if position == ANY else 3
        # Sets begin with one of so many, and count if they weigh this part of the heaviest one:
        # lighter sets are met on the way to heavy ones, and tell nothing.
        starts, heavy_part = 9, 0.97
        weighed = self.weighed(weights, limit, position)
        heaviest = float(weighed.max(initial=0.0))
        order = np.argsort(-weighed, kind="stable")[:starts]
        order = order[weighed[order] > 0]
        for _ in range(walks):
            if budget.is_spent():
                break
            start = self._start(order, position)
            scaled = weights / max(heaviest, float(weights.max()), 1e-9)
            is_annealed = self._random.random() < self.annealed
            found = self._walked(start, scaled, limit, position, is_annealed=is_annealed)
            heavy = found[found @ weights > heavy_part * heaviest]
            if len(heavy):
                heaviest = max(heaviest, float((heavy @ weights).max()))
                self.add_all(heavy)

    def _walked(
        self,
        start: BoolMatrix,
        weights: FloatArray,
        limit: int,
        position: int,
        *,
        is_annealed: bool,
    ) -> BoolMatrix:
        """Return sets that one walk finds, each heavier than all that it found before."""
        seed, most_found = int(self._random.integers(2**31)), 30
        found: BoolMatrix = np.zeros((most_found, self.tensors.nodes), dtype=np.bool_)
        # Walks of either sort take about the same time.
        if is_annealed:
            cold = math.exp(self._random.uniform(math.log(0.004), math.log(0.04)))
            count = anneal(
                *(start, self._graph, weights, limit, position, 10_000, seed), cold, found
            )
        else:
            count = walk(start, self._graph, weights, limit, position, 1200, seed, found)
        return found[:count]

    def _start(self, order: IntArray, position: int) -> BoolMatrix:
        """Return where a walk begins, mostly at one of the first sets of an order."""
        nodes = self.tensors.nodes
        if len(order) and self._random.random() < 0.85:
            row = order[min(len(order) - 1, int(self._random.exponential(3.0)))]
            begun: BoolMatrix = self._sets[row] > 0
            return begun
        return as_mask(1 << int(self._random.integers(nodes)) if position == ANY else 0, nodes)

    def add_all(self, masks: BoolMatrix) -> int:
        """Add sets given as rows; return how many are new."""
        graph, before = self.tensors.graph, self._count
        inside = self._ends @ masks.T.astype(np.int64)
        is_moved = (inside > 0) & (inside < self._end_counts[:, None])
        overflow = np.maximum(masks @ graph.param_load - graph.cache, 0)
        costs = masks @ graph.work + graph.transfer @ is_moved + overflow
        # An edge that enters or leaves tells that it is not the first, or not the last stage.
        sides = masks[:, graph.dag.sources].astype(np.int8) - masks[:, graph.dag.targets]
        is_first, is_last = np.all(sides >= 0, axis=1), np.all(sides <= 0, axis=1)
        for i, (mask, cost) in enumerate(zip(masks, costs.tolist(), strict=True)):
            members = members_where(mask)
            if members in self.costs:
                continue
            self.costs[members] = cost
            if self._count == len(self._sets):
                self._sets = np.vstack([self._sets, np.zeros_like(self._sets)])
                self._costs = np.concatenate([self._costs, np.zeros_like(self._costs)])
                self._may_be = np.concatenate([self._may_be, np.zeros_like(self._may_be)], axis=1)
            self._sets[self._count], self._costs[self._count] = mask, cost
            self._may_be[:, self._count] = True, is_first[i], is_last[i]
            self._count += 1
        return self._count - before


def as_mask(members: int, nodes: int) -> npt.NDArray[np.bool_]:
    """Return a set as an array."""
    result = np.zeros(nodes, dtype=np.bool_)
    result[list(bits_of(members))] = True
    return result
