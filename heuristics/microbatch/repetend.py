"""Search for repetends and their shortest schedules ([TESSEL24], Section IV-B).

The compiled part decides the micro-batch of each block, and the order on each device.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.problems.arrays import IntArray
from boundmark.problems.compiling import INTEGERS, compiled, internal
from boundmark.problems.dag import Dag
from boundmark.problems.microbatch import BlockLayout

# Longest path between two blocks that no condition connects.
NO_PATH = -(2**60)

# Changes of longest paths that a search remembers at a time, to take them back.
MOST_CHANGES = 2**22

REFUTED, FOUND, UNDECIDED = 0, 1, 2

# What became of conditions that were added.
KEPT, CYCLE, NO_ROOM = 0, 1, 2

_VECTOR = types.int64[::1]
_MATRIX = types.int64[:, ::1]
_PAIR = types.UniTuple(types.int64, 2)  # type: ignore[no-untyped-call]
_BOOLEANS = types.boolean[:, ::1]


@internal([types.int64(_MATRIX, INTEGERS, types.int64, types.int64, types.int64, types.int64,
                       _VECTOR, _VECTOR, _VECTOR)])  # fmt: skip
def _wait(
    longest: IntArray,
    order: IntArray,
    placed: int,
    first: int,
    second: int,
    ticks: int,
    trail: IntArray,
    old: IntArray,
    used: IntArray,
) -> int:
    """Let `second` start at least `ticks` after `first`.

    CYCLE is returned if blocks would wait for each other for ever, NO_ROOM if the trail is full;
    ``used[0]`` is its length.
    """
    if longest[first, second] >= ticks:
        return KEPT
    if longest[second, first] > NO_PATH and longest[second, first] + ticks > 0:
        return CYCLE
    nodes = len(order)
    for at in range(placed):
        tail = order[at]
        if longest[tail, first] == NO_PATH:
            continue
        before = longest[tail, first] + ticks
        for to in range(placed):
            head = order[to]
            if longest[second, head] == NO_PATH:
                continue
            length = before + longest[second, head]
            if length > longest[tail, head]:
                if used[0] == len(trail):
                    return NO_ROOM
                trail[used[0]] = tail * nodes + head
                old[used[0]] = longest[tail, head]
                used[0] += 1
                longest[tail, head] = length
    return KEPT


@internal([types.int64(_MATRIX, INTEGERS, types.int64, INTEGERS, _MATRIX, types.int64,
                       _VECTOR, _VECTOR, _VECTOR)])  # fmt: skip
def _order_what_is_forced(
    longest: IntArray,
    order: IntArray,
    placed: int,
    duration: IntArray,
    pairs: IntArray,
    known: int,
    trail: IntArray,
    old: IntArray,
    used: IntArray,
) -> int:
    """Fix each pair on a device that has only one possible order left."""
    has_changed = True
    while has_changed:
        has_changed = False
        for at in range(known):
            a, b = pairs[at, 0], pairs[at, 1]
            if longest[a, b] >= duration[a] or longest[b, a] >= duration[b]:
                continue
            can_begin = longest[b, a] == NO_PATH or longest[b, a] + duration[a] <= 0
            can_end = longest[a, b] == NO_PATH or longest[a, b] + duration[b] <= 0
            if can_begin and can_end:
                continue
            if not can_begin and not can_end:
                return CYCLE
            if can_begin:
                verdict = _wait(longest, order, placed, a, b, duration[a], trail, old, used)
            else:
                verdict = _wait(longest, order, placed, b, a, duration[b], trail, old, used)
            if verdict != KEPT:
                return verdict
            has_changed = True
    return KEPT


@internal([_PAIR(INTEGERS, _MATRIX, types.int64, types.int64, _VECTOR,
                                          types.int64)])  # fmt: skip
def _numbers_between(
    order: IntArray, path: IntArray, placed: int, size: int, member: IntArray, block: int
) -> tuple[int, int]:
    """Return the largest and the least micro-batch that the blocks before leave to a block.

    Numbers do not increase along dependencies (Property IV.2 of [TESSEL24]).
    """
    most, least = size - 1, 0
    for at in range(placed):
        other = order[at]
        if path[other, block] > NO_PATH:
            most = min(most, member[other])
        if path[block, other] > NO_PATH:
            least = max(least, member[other])
    return most, least


@internal([types.boolean(_MATRIX, INTEGERS, types.int64, INTEGERS, INTEGERS, _MATRIX, _BOOLEANS,
                         INTEGERS, types.int64, _VECTOR, _VECTOR)])  # fmt: skip
def _fits(
    longest: IntArray,
    order: IntArray,
    placed: int,
    duration: IntArray,
    memory: IntArray,
    path: IntArray,
    is_on: npt.NDArray[np.bool_],
    capacity: IntArray,
    size: int,
    member: IntArray,
    number: IntArray,
) -> bool:
    """Return whether each device may hold no more than its capacity.

    It holds what blocks of earlier micro-batches left there when the repetend begins, and then what
    blocks change that start before; blocks without a micro-batch, or an order, count the less.
    """
    nodes = len(order)
    for at in range(placed):
        number[order[at]] = member[order[at]]
    for at in range(placed, nodes):
        block = order[at]
        most, least = _numbers_between(order, path, placed, size, member, block)
        number[block] = least if memory[block] > 0 else most
    for device in range(len(capacity)):
        held = 0
        for at in range(nodes):
            block = order[at]
            if is_on[device, block]:
                held += memory[block] * number[block]
        if held > capacity[device]:
            return False
        for at in range(placed):
            block = order[at]
            if not is_on[device, block] or memory[block] <= 0:
                continue
            now = held + memory[block]
            for to in range(nodes):
                other = order[to]
                if other == block or not is_on[device, other]:
                    continue
                if to >= placed:
                    now += min(0, memory[other])
                elif longest[other, block] >= duration[other]:
                    now += memory[other]
                elif longest[block, other] < duration[block]:
                    now += min(0, memory[other])
            if now > capacity[device]:
                return False
    return True


@internal([types.int64(_MATRIX, INTEGERS, _MATRIX, types.int64)])
def _tightest_pair(longest: IntArray, duration: IntArray, pairs: IntArray, known: int) -> int:
    """Return the undecided pair with the least time to spare, -1 if there is none."""
    tightest, least = -1, 0
    for at in range(known):
        a, b = pairs[at, 0], pairs[at, 1]
        if longest[a, b] >= duration[a] or longest[b, a] >= duration[b]:
            continue
        spare = -duration[a] - duration[b]
        spare -= max(longest[a, b], -(2**40)) + max(longest[b, a], -(2**40))
        if tightest < 0 or spare < least:
            tightest, least = at, spare
    return tightest


@internal([types.int64(_MATRIX, INTEGERS, types.int64, types.int64)])
def _earliest(longest: IntArray, order: IntArray, placed: int, block: int) -> int:
    start = 0
    for at in range(placed):
        start = max(start, longest[order[at], block])
    return start


@internal([_PAIR(INTEGERS, _MATRIX, types.int64, types.int64,
                                          _VECTOR)])  # fmt: skip
def _numbers_left(
    order: IntArray, path: IntArray, placed: int, size: int, member: IntArray
) -> tuple[int, int]:
    """Return the largest and the least micro-batch that the next block may have.

    Some source has the largest number of all, and some sink 0.
    """
    block = order[placed]
    most, least = _numbers_between(order, path, placed, size, member, block)
    decides_largest, decides_zero = True, True
    for at in range(len(order)):
        is_source, is_sink = True, True
        for to in range(len(order)):
            if to != at:
                is_source = is_source and path[order[to], order[at]] == NO_PATH
                is_sink = is_sink and path[order[at], order[to]] == NO_PATH
        if at == placed:
            decides_largest = decides_largest and is_source
            decides_zero = decides_zero and is_sink
            continue
        number = member[order[at]]
        if is_source and (at > placed or number == size - 1):
            decides_largest = False
        if is_sink and (at > placed or number == 0):
            decides_zero = False
    if decides_largest:
        least = max(least, size - 1)
    if decides_zero:
        most = min(most, 0)
    return most, least


@compiled([types.int64(INTEGERS, INTEGERS, INTEGERS, INTEGERS, _MATRIX, _MATRIX, INTEGERS,
                       _BOOLEANS, INTEGERS, types.int64, types.int64, types.int64, _VECTOR,
                       _VECTOR)])  # fmt: skip
def search(
    order: IntArray,
    wish: IntArray,
    duration: IntArray,
    memory: IntArray,
    path: IntArray,
    pairs: IntArray,
    pairs_known: IntArray,
    is_on: npt.NDArray[np.bool_],
    capacity: IntArray,
    size: int,
    period: int,
    most_steps: int,
    member: IntArray,
    starts: IntArray,
) -> int:
    """Search for a repetend with a period; write its micro-batches and start times.

    Depth first: a block gets a micro-batch, then it is put in order with the blocks before it that
    share a device, then comes the next block. All conditions on start times are differences, so
    longest paths between blocks say which of them must come first, and whether any start times are
    left.
    """
    nodes, decisions = len(order), len(order) + len(pairs) + 1
    longest = np.full((nodes, nodes), NO_PATH, dtype=np.int64)
    room = min(nodes * nodes * decisions, MOST_CHANGES)
    trail, old = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    number = np.empty(nodes, dtype=np.int64)
    # Each level decides about a block, or, if `pair` is not -1, about the order of two. What is
    # left to try is `above` and larger numbers up to `most`, `below` and smaller ones to `least`.
    pair, placed, most, above, below, least, mark = np.zeros((7, decisions), dtype=np.int64)
    used = np.zeros(1, dtype=np.int64)
    pair[0] = -1
    most[0], least[0] = _numbers_left(order, path, 0, size, member)
    below[0] = max(least[0], min(wish[order[0]], most[0]))
    above[0] = below[0] + 1
    level, steps = 0, 0
    while level >= 0:
        while used[0] > mark[level]:
            used[0] -= 1
            longest[trail[used[0]] // nodes, trail[used[0]] % nodes] = old[used[0]]
        is_tried = most[level] < above[level] and below[level] < least[level]
        if is_tried or most[level] < least[level]:
            level -= 1
            continue
        steps += 1
        if steps > most_steps:
            return UNDECIDED
        now = placed[level]
        wished = wish[order[now]] if pair[level] < 0 else 0
        if below[level] >= least[level] and (
            most[level] < above[level] or wished - below[level] <= above[level] - wished
        ):
            taken = below[level]
            below[level] -= 1
        else:
            taken = above[level]
            above[level] += 1
        verdict = KEPT
        if pair[level] < 0:
            block = order[now]
            member[block] = taken
            now += 1
            if used[0] == len(trail):
                return UNDECIDED
            trail[used[0]], old[used[0]] = block * nodes + block, longest[block, block]
            used[0] += 1
            longest[block, block] = 0
            # A device ends a repetition within a period of its first start.
            for at in range(pairs_known[now - 1], pairs_known[now]):
                a, b = pairs[at, 0], pairs[at, 1]
                if verdict == KEPT:
                    ticks = duration[a] - period
                    verdict = _wait(longest, order, now, a, b, ticks, trail, old, used)
                if verdict == KEPT:
                    ticks = duration[b] - period
                    verdict = _wait(longest, order, now, b, a, ticks, trail, old, used)
            for at in range(now - 1):
                other = order[at]
                if verdict == KEPT and path[other, block] > NO_PATH:
                    ticks = path[other, block] - period * (member[other] - taken)
                    verdict = _wait(longest, order, now, other, block, ticks, trail, old, used)
                if verdict == KEPT and path[block, other] > NO_PATH:
                    ticks = path[block, other] - period * (taken - member[other])
                    verdict = _wait(longest, order, now, block, other, ticks, trail, old, used)
        else:
            a, b = pairs[pair[level], taken % 2], pairs[pair[level], 1 - taken % 2]
            verdict = _wait(longest, order, now, a, b, duration[a], trail, old, used)
        known = pairs_known[now]
        if verdict == KEPT:
            verdict = _order_what_is_forced(
                longest, order, now, duration, pairs, known, trail, old, used
            )
        if verdict == NO_ROOM:
            return UNDECIDED
        if verdict == CYCLE or not _fits(
            longest, order, now, duration, memory, path, is_on, capacity, size, member, number
        ):
            continue
        undecided = _tightest_pair(longest, duration, pairs, known)
        if undecided < 0 and now == nodes:
            for block in range(nodes):
                starts[block] = _earliest(longest, order, nodes, block)
            return FOUND
        level += 1
        pair[level], placed[level], mark[level] = undecided, now, used[0]
        if undecided < 0:
            most[level], least[level] = _numbers_left(order, path, now, size, member)
            below[level] = max(least[level], min(wish[order[now]], most[level]))
        else:
            # Who can start earlier goes first; even numbers put the pair's first block first.
            first, second = pairs[undecided]
            begin = _earliest(longest, order, now, first)
            least[level] = 0 if begin > _earliest(longest, order, now, second) else 1
            most[level] = below[level] = least[level] + 1
        above[level] = below[level] + 1
    return REFUTED


@dataclass(frozen=True)
class TimedRepetend:
    """A repetend with start times.

    Attributes
    ----------
    members
        The micro-batch of each block.
    starts
        The start of each block; the first one starts at 0.
    period
        Ticks from one repetition to the next.
    """

    members: tuple[int, ...]
    starts: tuple[int, ...]
    period: int


def longest_path(dag: Dag) -> int:
    """Return the number of nodes on a longest path."""
    before, _ = _depths(dag)
    return 1 + max(before)


def held_before(layout: BlockLayout, members: Sequence[int]) -> tuple[int, ...]:
    """Return the memory in use on each device when its first block of a repetend starts.

    Each block has run with all micro-batches before its member of the repetend.
    """
    return tuple(
        sum(layout.blocks[i].memory * members[i] for i in here) for here in layout.on_device
    )


Verdict = Literal["refuted", "found", "undecided"]


class RepetendSearch:
    """Search for repetends of a layout, by number of micro-batches and period.

    Of all blocks, those on the most devices are decided first, since all others have to fit around
    them, and then the others from both ends of the micro-batch inwards: what shares a device is
    often as far from one end as from the other, as in all shapes of [TESSEL24].
    """

    def __init__(self, layout: BlockLayout, capacity: Sequence[int]) -> None:
        self._layout = layout
        blocks, count = layout.blocks, len(layout.blocks)
        before, after = _depths(layout.dag)
        self._order = sorted(
            range(count),
            key=lambda i: (-len(blocks[i].devices), min(before[i], after[i]), before[i]),
        )
        position = {block: at for at, block in enumerate(self._order)}
        pairs = {
            tuple(sorted((i, j), key=position.__getitem__))
            for here in layout.on_device
            for i, j in itertools.combinations(here, 2)
        }
        by_position = sorted(pairs, key=lambda pair: (position[pair[1]], position[pair[0]]))
        last = [position[second] for _, second in by_position]
        path = _longest_paths(layout)
        is_on = np.zeros((layout.devices, count), dtype=np.bool_)
        for device, here in enumerate(layout.on_device):
            is_on[device, list(here)] = True
        self._arrays = (
            layout.durations,
            layout.memory,
            path,
            np.array(by_position, dtype=np.int64).reshape(-1, 2),
            np.searchsorted(last, np.arange(count + 1)).astype(np.int64),
            is_on,
            np.array(capacity, dtype=np.int64),
        )
        # As soon as what it waits for allows in the first half, just before what needs it after.
        self._is_early = np.array([b <= a for b, a in zip(before, after, strict=True)])
        # The part of a micro-batch that is still to come when a block starts.
        ticks_before, ticks_after = path.max(axis=0), path.max(axis=1)
        self._to_come = ticks_after / np.maximum(1, ticks_before + ticks_after)

    def find(self, size: int, period: int, steps: int) -> tuple[Verdict, TimedRepetend | None]:
        """Search for a repetend of some micro-batches with a period, or a shorter one."""
        count = len(self._layout.blocks)
        if max(self._layout.loads) > period:
            return "refuted", None
        members, starts = np.zeros((2, count), dtype=np.int64)
        together = np.where(self._is_early, size, -1)
        spread = np.rint(self._to_come * (size - 1)).astype(np.int64)
        for wish in (together, spread):
            verdict = search(
                np.array(self._order, dtype=np.int64), wish, *self._arrays, size, period, steps,
                members, starts,
            )  # fmt: skip
            if verdict == REFUTED:
                return "refuted", None
            if verdict == FOUND:
                numbers, times = tuple(members.tolist()), tuple(starts.tolist())
                period = period_of(self._layout, numbers, times)
                return "found", TimedRepetend(numbers, times, period)
        return "undecided", None


def _depths(dag: Dag) -> tuple[list[int], list[int]]:
    """Return the most blocks on a path that ends before each block, and that begins after it."""
    before, after = [0] * dag.nodes, [0] * dag.nodes
    order = dag.topological_order.tolist()
    for node in order:
        for producer in dag.producers_of(node).tolist():
            before[node] = max(before[node], before[producer] + 1)
    for node in reversed(order):
        for consumer in dag.consumers_of(node).tolist():
            after[node] = max(after[node], after[consumer] + 1)
    return before, after


def _longest_paths(layout: BlockLayout) -> IntArray:
    """Return the ticks from each block's start to another's along dependencies, shape (K, K)."""
    count = len(layout.blocks)
    path = np.full((count, count), NO_PATH, dtype=np.int64)
    for node in layout.dag.topological_order.tolist():
        path[node, node] = 0
        for producer in layout.dag.producers_of(node).tolist():
            reaches = path[:, producer] > NO_PATH
            ticks = path[reaches, producer] + layout.blocks[producer].duration
            path[reaches, node] = np.maximum(path[reaches, node], ticks)
    return path


def period_of(layout: BlockLayout, members: Sequence[int], starts: Sequence[int]) -> int:
    """Return t_R of Equation 4 for the start times of a repetend."""
    ends = [start + block.duration for start, block in zip(starts, layout.blocks, strict=True)]
    executing = [
        max(ends[i] for i in here) - min(starts[i] for i in here)
        for here in layout.on_device
        if here
    ]
    waiting: list[int] = [
        -((starts[j] - ends[i]) // (members[i] - members[j]))
        for i, j in layout.dag.edge_pairs().tolist()
        if members[i] > members[j]
    ]
    return max(executing + waiting)
