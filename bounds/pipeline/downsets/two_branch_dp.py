"""`two-branch-dp`: dynamic programming over pairs of down-sets, for two parallel branches.

Models with an encoder for images beside one for texts have few down-sets in each branch (a *tower*
below), but the product of both numbers in all, too many for `ideal-dp`. A stage has an interval of
down-sets in the tower and one beside it, and its cost is the sum of both, but for tensors that pass
from one side to the other. So a search through pairs of down-sets, fewest stages first, looks at
the intervals of each side apart from those of the other: for a down-set of the tower, all down-sets
beside it that some stage leads to are found at once, by their least cost. A stage pays for tensors
between the sides if it reads none of them, or has nothing of the tower; otherwise they are free.
Hence bounds hold for each graph, and are optimal where all of the tower leads to the one tensor
that leaves it.

The compiled search does what the checker does with the same tables (see
`checker.pipeline.two_branch_dp`), counts the steps that takes, and remembers by how many stages
each pair was found, so that a partition can be told. Tables are for the largest threshold; at a
lower one, what costs more is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, takewhile
from operator import or_
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.bounds import checker
from boundmark.bounds.best import Best
from boundmark.bounds.checker.budget import MOST_STEPS, limited, steps_left
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.limits import LARGEST_TOWER_GRAPH
from boundmark.bounds.checker.pipeline.two_branch_dp import (
    CHUNK,
    CHUNKS_PER_STEP,
    PairSearch,
    Side,
    Sources,
    sides,
)
from boundmark.bounds.pipeline.paper.work import run_mean_work
from boundmark.bounds.pipeline.quick_partition import start_from_quick_partition
from boundmark.bounds.pipeline.weights.tensors import bits_of
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate, Claim
from boundmark.problems.compiling import compiled
from boundmark.problems.dag import Dag
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress
from boundmark.problems.pipeline import Partition, PipelineInstance

KIND = "two-branch-dp/1"


def run(
    instance: PipelineInstance,
    budget: Budget,
    seed: int,
    progress: Progress,
    *,
    least_part: float = 0.05,
) -> None:
    """Report ever better partitions and bounds, up to the optimum where one tensor joins towers.

    Raises `UnsupportedError` if the graph is too large, has no parallel towers, or they have too
    many down-sets.
    """
    # `least_part`: Part of the nodes that a tower and what is beside it have at least.
    if instance.nodes > LARGEST_TOWER_GRAPH:
        raise UnsupportedError(
            f"the graph has {instance.nodes:,} nodes; expected at most {LARGEST_TOWER_GRAPH:,}."
        )
    least = least_part * instance.nodes
    large = takewhile(lambda found: found[0] >= least, towers(instance.graph.dag))
    # The one that leaves most beside it is tried first, until one has few enough down-sets.
    most_tried = 3
    tried = [tower for _, tower in islice(large, most_tried)]
    if not tried:
        raise UnsupportedError("the graph has no parallel towers")
    best = Best.before(instance, progress)
    run_mean_work(instance, budget, seed, best)
    start_from_quick_partition(instance, seed, budget, best)
    if best.is_proven:
        return
    checked = checker.check_instance(instance.to_json())
    # Steps of the checker that may be taken to list the stages of both sides, at most, and as many
    # as there is time for at two million a second.
    most_steps, in_time = 2**25, int(2e6 * budget.remaining())
    for tower in tried:
        search = _prepared(checked, tower, int(best.objective) - 1, min(most_steps, in_time))
        if search is not None:
            _close_in(instance, tower, search, budget, best)
            return
    if in_time >= most_steps:
        raise UnsupportedError("the graph's towers have too many down-sets to check")


def towers(dag: Dag) -> Iterator[tuple[int, list[int]]]:
    """Yield down-sets that are parallel to others, with the number of nodes in the smaller part.

    What comes before a node, or behind one, may fall into components without edges between them:
    towers that the node joins, or branches that leave it. The largest one is a side by itself, and
    the others are in the other side, so the number is that of the second largest. Larger ones come
    first.
    """
    producers = [dag.producers_of(v).tolist() for v in range(dag.nodes)]
    consumers = [dag.consumers_of(v).tolist() for v in range(dag.nodes)]
    order = dag.topological_order.tolist()
    everything = (1 << dag.nodes) - 1
    found: dict[int, int] = {}
    for neighbours, is_before in ((producers, True), (consumers, False)):
        reached = [0] * dag.nodes
        for v in order if is_before else order[::-1]:
            reached[v] = 1 << v
            for u in neighbours[v]:
                reached[v] |= reached[u]
        ends = [v for v in range(dag.nodes) if not (consumers if is_before else producers)[v]]
        for starts in (*neighbours, ends):
            components = _disjoint([reached[u] for u in starts])
            if len(components) > 1:
                largest, second = components[:2]
                tower = largest if is_before else everything & ~largest
                found[tower] = max(found.get(tower, 0), second.bit_count())
    for tower, size in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        yield size, list(bits_of(tower))


def _disjoint(sets: Sequence[int]) -> list[int]:
    """Unite sets that overlap; return the largest first."""
    result: list[int] = []
    for united in sets:
        apart = []
        for other in result:
            if other & united:
                united |= other
            else:
                apart.append(other)
        result = [*apart, united]
    return sorted(result, key=lambda nodes: (-nodes.bit_count(), nodes))


UInt64Array: TypeAlias = npt.NDArray[np.uint64]
LevelArray: TypeAlias = npt.NDArray[np.int16]
Flags: TypeAlias = npt.NDArray[np.bool_]


class _OutOfTimeError(Exception):
    """The time is up in the middle of a search."""


class Ends(NamedTuple):
    """Stages beside the tower, by the down-set where they end, cheapest first."""

    # Those that lead to down-set i are ``start[i]`` to ``start[i + 1] - 1``.
    start: IntArray
    # cost, first: Their costs, and the down-sets where they begin.
    cost: IntArray
    first: IntArray


class Tables(NamedTuple):
    """Stages of both sides."""

    # Stages beside the tower that read none of its tensors.
    plain: Ends
    # reading, alone: The others, without and with what they read.
    reading: Ends
    alone: Ends
    # start, after, cost, sent: Stages of the tower, by the down-set where they begin.
    start: IntArray
    after: IntArray
    cost: IntArray
    sent: IntArray
    # For each down-set of the tower, the least sum of costs of stages with all that is outside.
    inner_rest: IntArray
    # The same beside the tower, in ascending order.
    rest: IntArray


class Bits(NamedTuple):
    """Sets of down-sets beside the tower, in words of 64 bits."""

    # By down-set of the tower, those that read from nowhere else, shape (m, words).
    allowed: UInt64Array
    # The first i in the order of `rest`, shape (n + 1, words).
    by_rest: UInt64Array
    # By down-set, those that a stage within the threshold leads to, shape (n, words).
    targets: UInt64Array
    # reached, now, then: By down-set of the tower: those found so far, with the stages so far, with
    # one more stage.
    reached: UInt64Array
    now: UInt64Array
    then: UInt64Array
    # Working memory: the first i of a front, shape (3, n + 1, words).
    within: UInt64Array


class TowerSearch:
    """A search through pairs of down-sets, at thresholds up to that of the checker's tables."""

    # `inner`, `outer`: The tower, and what is beside it. `prepared`: Steps that the checker takes
    # until its search begins.

    def __init__(self, k: int, inner: Side, outer: Side, pairs: PairSearch, prepared: int) -> None:
        self._sides = inner, outer
        self._prepared = prepared
        inside, beside = len(inner.ideals), len(outer.ideals)
        self._k = min(k, inside + beside)
        order = sorted(range(beside), key=pairs.outer_rest.__getitem__)
        self._tables = Tables(
            _by_end(pairs.plain),
            _by_end(pairs.reading),
            _by_end(pairs.alone),
            _starts([stages.after for stages in pairs.stages]),
            _joined([stages.after for stages in pairs.stages]),
            _joined([stages.cost for stages in pairs.stages]),
            _joined([stages.sent for stages in pairs.stages]),
            frozen(pairs.inner_rest),
            frozen([pairs.outer_rest[i] for i in order]),
        )
        words = (beside + 63) // 64
        self._bits = Bits(
            allowed=_words(pairs.allowed, words),
            by_rest=_words(accumulate((1 << i for i in order), or_, initial=0), words),
            targets=np.zeros((beside, words), dtype=np.uint64),
            reached=np.zeros((inside, words), dtype=np.uint64),
            now=np.zeros((inside, words), dtype=np.uint64),
            then=np.zeros((inside, words), dtype=np.uint64),
            within=np.zeros((3, beside + 1, words), dtype=np.uint64),
        )
        # The number of stages that lead to a pair, -1 if it is not found.
        self._level = np.zeros((inside, beside), dtype=np.int16)
        self._counted = np.zeros(1, dtype=np.int64)

    @property
    def steps(self) -> int:
        """The steps that the checker takes for the last search, at most."""
        return self._prepared + int(self._counted[0])

    def stages(self, threshold: int, budget: Budget) -> IntArray | None:
        """Return a partition whose stages the pairs hold within a threshold, or None.

        Raises `_OutOfTimeError` if the budget ends first.
        """
        bits, level = self._bits, self._level
        level.fill(-1)
        for sets in (bits.reached, bits.now):
            sets.fill(0)
            sets[0, 0] = 1
        level[0, 0] = 0
        self._counted[0] = 0
        find_targets(threshold, self._tables, bits.targets)
        for left in range(self._k, 0, -1):
            if budget.is_spent():
                raise _OutOfTimeError
            stage, per_step = self._k - left + 1, CHUNK * CHUNKS_PER_STEP
            advance(threshold, left, stage, self._tables, bits, level, self._counted, per_step)
            if level[-1, -1] >= 0:
                return self._partition(threshold)
            bits.now[:] = bits.then
        return None

    def _partition(self, threshold: int) -> IntArray:
        """Return the stages that led to the pair of all nodes, numbered in the order of data."""
        result = np.zeros(sum(len(group) for side in self._sides for group in side.groups))
        inside, beside = (len(side.ideals) - 1 for side in self._sides)
        for stage in range(int(self._level[-1, -1]) - 1, -1, -1):
            before = self._before(inside, beside, stage, threshold)
            for side, first, last in zip(self._sides, before, (inside, beside), strict=True):
                for group in bits_of(side.ideals[last] & ~side.ideals[first]):
                    result[side.groups[group]] = stage
            inside, beside = before
        return frozen(result)

    def _before(self, inside: int, beside: int, stages: int, threshold: int) -> tuple[int, int]:
        """Return a pair that one stage within a threshold leads on from, after some stages."""
        tables, level = self._tables, self._level

        def first_of(ends: Ends, begin: int, room: int) -> int | None:
            """Return where a stage begins that costs no more than some ticks, if one does."""
            part = slice(ends.start[beside], ends.start[beside + 1])
            fits = (ends.cost[part] <= room) & (level[begin, ends.first[part]] == stages)
            return int(ends.first[part][fits][0]) if fits.any() else None

        for ends in (tables.plain, tables.alone):
            first = first_of(ends, inside, threshold)
            if first is not None:
                return inside, first
        for i in np.flatnonzero(tables.after == inside).tolist():
            begin = int(np.searchsorted(tables.start, i, side="right")) - 1
            room = threshold - int(tables.cost[i])
            apart = room - int(tables.sent[i])
            if apart >= 0 and level[begin, beside] == stages:
                return begin, beside
            for ends, most in ((tables.plain, apart), (tables.reading, room)):
                first = first_of(ends, begin, most)
                if first is not None:
                    return begin, first
        raise AssertionError("a pair was found that no stage leads to")


def _by_end(sources: Sources) -> Ends:
    return Ends(_starts(sources.costs), _joined(sources.costs), _joined(sources.firsts))


def _starts(rows: Sequence[Sequence[int]]) -> IntArray:
    """Return where each row begins if all are joined, and where the last one ends."""
    return frozen(np.cumsum([0, *map(len, rows)]))


def _joined(rows: Sequence[Sequence[int]]) -> IntArray:
    """Join rows of numbers."""
    return frozen(np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]))


def _words(sets: Iterable[int], words: int) -> UInt64Array:
    """Return sets as words of 64 bits, shape (number of sets, words)."""
    content = b"".join(numbers.to_bytes(8 * words, "little") for numbers in sets)
    return np.frombuffer(content, dtype="<u8").reshape(-1, words).copy()


def _prepared(
    checked: Instance, tower: Sequence[int], threshold: int, most_steps: int
) -> TowerSearch | None:
    """Return the search up to a threshold; None if listing the stages takes more steps."""
    try:
        with limited("the towers", most_steps):
            inner, outer = sides(checked, set(tower))
            search = PairSearch(inner, outer, threshold)
            left = steps_left()
    except checker.TooLarge:
        return None
    assert left is not None
    return TowerSearch(checked.k, inner, outer, search, most_steps - left)


def _close_in(
    instance: PipelineInstance,
    tower: Sequence[int],
    search: TowerSearch,
    budget: Budget,
    best: Best,
) -> None:
    """Bisect between the best bound and the best cost, while there is time.

    At a threshold that stands, the pairs may lead to a partition that costs more, if it has tensors
    between the sides that no pair pays for. Then no larger threshold can be refuted.
    """
    refuted_below, stands = best.certified, best.objective
    while refuted_below < min(stands, best.objective):
        threshold = int(refuted_below + min(stands, best.objective)) // 2
        try:
            stages = search.stages(threshold, budget)
        except _OutOfTimeError:
            return
        if stages is not None:
            best.solution(Partition(stages))
            stands = min(stands, threshold)
            continue
        refuted_below = threshold + 1
        if search.steps <= MOST_STEPS:
            payload = {"threshold": threshold, "tower": list(tower)}
            best.bound(Certificate.of(instance, KIND, threshold + 1, payload, "two-branch-dp"))
        else:
            best.bound(Claim(KIND, threshold + 1))


_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_WORDS = types.Array(types.uint64, 1, "C")
_SETS = types.Array(types.uint64, 2, "C")
_ENDS = types.NamedUniTuple(_INPUT, 3, Ends)  # type: ignore[no-untyped-call]
_TABLES = types.NamedTuple((*(_ENDS,) * 3, *(_INPUT,) * 6), Tables)  # type: ignore[no-untyped-call]
_BITS = types.NamedTuple(  # type: ignore[no-untyped-call]
    (*(_SETS,) * 6, types.Array(types.uint64, 3, "C")), Bits
)
_FLAGS = types.Array(types.boolean, 1, "C")
_LEVEL = types.Array(types.int16, 2, "C")


@compiled([types.void(_INT, _TABLES, _SETS)])
def find_targets(t: int, tables: Tables, targets: UInt64Array) -> None:
    """Find the down-sets beside the tower that stages within a threshold lead to."""
    targets[:] = 0
    for ends in (tables.plain, tables.reading):
        for end in range(len(targets)):
            bit = np.uint64(1) << np.uint64(end % 64)
            for i in range(ends.start[end], ends.start[end + 1]):
                if ends.cost[i] <= t:
                    targets[ends.first[i], end // 64] |= bit


@compiled([types.boolean(_WORDS, _INT)])
def _contains(words: UInt64Array, number: int) -> bool:
    word: int = words[number // 64] >> np.uint64(number % 64) & np.uint64(1)
    return word != 0


@compiled([_INT(_INT, _INT, _WORDS, _ENDS, _FLAGS, *(_VECTOR,) * 3, _INT)])
def _cheapest(
    t: int,
    count: int,
    targets: UInt64Array,
    sources: Ends,
    is_first: Flags,
    costs: IntArray,
    ends: IntArray,
    counted: IntArray,
    per_step: int,
) -> int:
    """Append the cheapest stage to each target that begins at one of the firsts."""
    # `count`: Number of entries of `costs` and `ends` so far; the number afterwards is returned.
    # `counted`, `per_step`: See `advance`.
    start = sources.start
    for end in range(len(start) - 1):
        if not _contains(targets, end) or start[end] == start[end + 1]:
            continue
        probes = 0
        for i in range(start[end], start[end + 1]):
            if sources.cost[i] > t:
                break
            probes += 1
            if is_first[sources.first[i]]:
                costs[count] = sources.cost[i]
                ends[count] = end
                count += 1
                break
        counted[0] += 2 + probes // per_step
    return count


@compiled([types.void(_INT, _VECTOR, _VECTOR, _SETS)])
def _sort(count: int, costs: IntArray, ends: IntArray, within: UInt64Array) -> None:
    """Sort the first entries by cost, and unite the ends up to each."""
    order = np.argsort(costs[:count])
    costs[:count] = costs[:count][order]
    within[0] = 0
    for i in range(count):
        end = ends[order[i]]
        within[i + 1] = within[i]
        within[i + 1, end // 64] |= np.uint64(1) << np.uint64(end % 64)


@compiled([types.void(_INT, _WORDS, _WORDS, _INT, _BITS, _LEVEL)])
def _reach(
    after: int,
    ends: UInt64Array,
    others: UInt64Array,
    stage: int,
    bits: Bits,
    level: LevelArray,
) -> None:
    """Note the pairs of a down-set of the tower and the ends, as far as they are new."""
    for w in range(len(ends)):
        new = (ends[w] | others[w]) & bits.allowed[after, w] & ~bits.reached[after, w]
        if new:
            bits.reached[after, w] |= new
            bits.then[after, w] |= new
            for bit in range(64):
                if new >> np.uint64(bit) & np.uint64(1):
                    level[after, 64 * w + bit] = stage


@compiled([types.void(*(_INT,) * 3, _TABLES, _BITS, _LEVEL, _VECTOR, _INT)])
def advance(
    t: int,
    left: int,
    stage: int,
    g: Tables,
    bits: Bits,
    level: LevelArray,
    counted: IntArray,
    per_step: int,
) -> None:
    """Find the pairs that one more stage leads to."""
    # `t`, `left`: Threshold, and the number of stages left. `stage`: The number of stages with this
    # one. `level`: Receives it for the pairs that are new. `counted`: Its only entry counts the
    # steps that the checker takes. `per_step`: Stages looked at that are a step of the checker. It
    # is no constant, since compiled code that is kept would not notice that the checker's has
    # changed.
    beside, words = level.shape[1], bits.reached.shape[1]
    costs, ends = np.empty((3, beside), np.int64), np.empty((3, beside), np.int64)
    now, targets = np.empty(words, np.uint64), np.empty(words, np.uint64)
    is_first = np.empty(beside, np.bool_)
    bits.then[:] = 0
    largest = 2**62
    most = left * t if t <= largest // left else largest
    for number in range(len(bits.reached)):
        useful = np.searchsorted(g.rest, most - g.inner_rest[number], side="right")
        for w in range(words):
            now[w] = bits.now[number, w] & bits.by_rest[useful, w]
        targets[:] = 0
        plain = 0
        for first in range(beside):
            is_first[first] = _contains(now, first)
            if is_first[first]:
                costs[0, plain], ends[0, plain] = 0, first
                plain += 1
                for w in range(words):
                    targets[w] |= bits.targets[first, w]
        if not plain:
            continue
        counted[0] += plain
        for end in range(beside):
            counted[0] += _contains(targets, end)
        reading = _cheapest(
            t, 0, targets, g.reading, is_first, costs[1], ends[1], counted, per_step
        )
        alone = _cheapest(t, 0, targets, g.alone, is_first, costs[2], ends[2], counted, per_step)
        for w in range(words):
            targets[w] &= ~now[w]
        plain = _cheapest(
            t, plain, targets, g.plain, is_first, costs[0], ends[0], counted, per_step
        )
        for front, count in enumerate((plain, reading, alone)):
            _sort(count, costs[front], ends[front], bits.within[front])
        # Stages without a part of the tower, then those with one.
        a = np.searchsorted(costs[0, :plain], t, side="right")
        b = np.searchsorted(costs[2, :alone], t, side="right")
        _reach(number, bits.within[0, a], bits.within[2, b], stage, bits, level)
        for i in range(g.start[number], g.start[number + 1]):
            room = t - g.cost[i]
            if room < 0:
                continue
            counted[0] += 2
            a = np.searchsorted(costs[0, :plain], room - g.sent[i], side="right")
            b = np.searchsorted(costs[1, :reading], room, side="right")
            _reach(g.after[i], bits.within[0, a], bits.within[1, b], stage, bits, level)
