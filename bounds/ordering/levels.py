"""Levels of the dynamic program: all relevant down-sets of one size, and those of the next.

Down-sets are bit sets of as many 64-bit words as their section needs. Costs are the sum of what
operators took so far and the least that the others take, or the maximum so far.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from boundmark.bounds.checker.ordering.section import EARLIER, Section
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.compiling import compiled, internal


class Steps(NamedTuple):
    """Tensors that each of the k operators of a section reads, leaves and feeds, in W words.

    Attributes
    ----------
    needs
        The operators that each one reads from, shape (k, W).
    read_start, others, read_size, is_overwritten
        Of the tensors that operator v may be the last to read, ``read_start[v]`` to
        ``read_start[v + 1] - 1``: the other readers, shape (reads, W); the size; whether v can
        overwrite it.
    feed_start, feeds
        The operators that read from each one.
    running, written, leaves
        What an operator takes beside what is there, its part that an overwritten tensor saves, and
        what it leaves behind, shape (k,).
    least
        The least that each operator takes, shape (k,).
    """

    needs: IntArray
    read_start: IntArray
    others: IntArray
    read_size: IntArray
    is_overwritten: IntArray
    feed_start: IntArray
    feeds: IntArray
    running: IntArray
    written: IntArray
    leaves: IntArray
    least: IntArray


class Level(NamedTuple):
    """Down-sets of one size.

    Attributes
    ----------
    done, ready
        The operators inside, and those that may be next, shape (states, W).
    live, cost
        Size of the tensors that are there, and the cost so far, shape (states,).
    before, operator
        The down-set of the level before that this one was reached from, and by which operator.
    """

    done: IntArray
    ready: IntArray
    live: IntArray
    cost: IntArray
    before: IntArray
    operator: IntArray


# Multiplied by this, the powers of 2 differ in their upper six bits.
_SPREAD = 0x03F79D71B4CB0A89
_PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACES[((_SPREAD << _bit) & (2**64 - 1)) >> 58] = _bit

_INT = types.int64
_INPUT = types.Array(types.int64, 1, "C", readonly=True)
_TABLE_INPUT = types.Array(types.int64, 2, "C", readonly=True)
_VECTOR = types.Array(types.int64, 1, "C")
_TABLE = types.Array(types.int64, 2, "C")
_STEPS = types.NamedTuple(  # type: ignore[no-untyped-call]
    [_TABLE_INPUT, _INPUT, _TABLE_INPUT] + [_INPUT] * 8, Steps
)
_LEVEL = types.NamedTuple([_TABLE] * 2 + [_VECTOR] * 4, Level)  # type: ignore[no-untyped-call]


@compiled([_INT(_TABLE)])
def count_members(sets: IntArray) -> int:
    """Count the members of all sets together."""
    total = 0
    for at in range(sets.shape[0]):
        for word in range(sets.shape[1]):
            left = sets[at, word]
            while left != 0:
                left &= left - 1
                total += 1
    return total


@internal([types.boolean(_TABLE_INPUT, _INT, _TABLE, _INT)])
def _is_inside(sets: IntArray, one: int, within: IntArray, at: int) -> bool:
    outside = 0
    for word in range(sets.shape[1]):
        outside |= sets[one, word] & ~within[at, word]
    return outside == 0


@internal([_INT(_TABLE, _INT, _INT, _INT)])
def _hash(sets: IntArray, at: int, word: int, bit: int) -> int:
    """Return a hash of a set with one more member."""
    mixed = 1469598103934665603
    for w in range(sets.shape[1]):
        value = sets[at, w]
        if w == word:
            value |= bit
        mixed = (mixed ^ value) * 1099511628211
        mixed ^= (mixed >> 32) & 0xFFFFFFFF
    return mixed


@internal([_INT(_TABLE, _INT, _INT, _INT, _TABLE, _VECTOR)])
def _slot(sets: IntArray, at: int, word: int, bit: int, found: IntArray, table: IntArray) -> int:
    """Return the slot of a set with one more member in the hash table, used or free."""
    mask = len(table) - 1
    slot = _hash(sets, at, word, bit) & mask
    while table[slot] >= 0:
        is_same = True
        for w in range(sets.shape[1]):
            value = sets[at, w]
            if w == word:
                value |= bit
            if found[table[slot], w] != value:
                is_same = False
                break
        if is_same:
            return slot
        slot = (slot + 1) & mask
    return slot


@internal([types.UniTuple(_INT, 2)(_INT, _LEVEL, _INT, _STEPS)])  # type: ignore[no-untyped-call]
def _run(v: int, level: Level, at: int, s: Steps) -> tuple[int, int]:
    """Return the memory while an operator runs after a down-set, and the live memory after it."""
    live = level.live[at]
    taken = live + s.running[v]
    left = live + s.leaves[v]
    is_in_place = False
    for read in range(s.read_start[v], s.read_start[v + 1]):
        if _is_inside(s.others, read, level.done, at):
            left -= s.read_size[read]
            if s.is_overwritten[read] != 0:
                is_in_place = True
    if is_in_place:
        taken -= s.written[v]
    return taken, left


@internal([_INT(_LEVEL, _INT, _STEPS)])
def _free_step(level: Level, at: int, s: Steps) -> int:
    """Return the first operator that raises neither the peak nor live memory; -1 if none."""
    for word in range(level.done.shape[1]):
        left_over = level.ready[at, word]
        while left_over != 0:
            bit = left_over & -left_over
            left_over ^= bit
            v: int = 64 * word + _PLACES[((bit * _SPREAD) >> 58) & 63]
            taken, left = _run(v, level, at, s)
            if taken <= level.cost[at] and left <= level.live[at]:
                return v
    return -1


@compiled([_INT(_INT, _INT, _LEVEL, _LEVEL, _VECTOR, _STEPS, _VECTOR)])
def expand(
    is_peak: int,
    limit: int,
    level: Level,
    following: Level,
    table: IntArray,
    s: Steps,
    counts: IntArray,
) -> int:
    """Fill the next level with all down-sets that cost less than the limit; return how many."""
    words = level.done.shape[1]
    size = 0
    for at in range(len(level.cost)):
        only = -1
        if is_peak != 0:
            only = _free_step(level, at, s)
        for word in range(words):
            left_over = level.ready[at, word]
            while left_over != 0:
                bit = left_over & -left_over
                left_over ^= bit
                v = 64 * word + _PLACES[((bit * _SPREAD) >> 58) & 63]
                if only >= 0 and v != only:
                    continue
                counts[0] += 1
                taken, left = _run(v, level, at, s)
                if is_peak != 0:
                    cost = max(level.cost[at], taken)
                else:
                    cost = level.cost[at] + taken - s.least[v]
                if cost >= limit:
                    continue
                slot = _slot(level.done, at, word, bit, following.done, table)
                new = table[slot]
                if new >= 0:
                    if cost < following.cost[new]:
                        following.cost[new] = cost
                        following.before[new] = at
                        following.operator[new] = v
                    continue
                new = size
                size += 1
                table[slot] = new
                following.cost[new] = cost
                following.live[new] = left
                following.before[new] = at
                following.operator[new] = v
                for w in range(words):
                    following.done[new, w] = level.done[at, w]
                    following.ready[new, w] = level.ready[at, w]
                following.done[new, word] |= bit
                following.ready[new, word] ^= bit
                for feed in range(s.feed_start[v], s.feed_start[v + 1]):
                    reader = s.feeds[feed]
                    if _is_inside(s.needs, reader, following.done, new):
                        following.ready[new, reader // 64] |= 1 << (reader % 64)
    table[:] = -1
    return size


def steps_of(part: Section, least: list[int]) -> Steps:
    """Return a section's operators as the compiled search reads them."""
    count = len(part.operators)
    needs, others, sizes, overwritten, leaves = [], [], [], [], []
    read_start, feed_start, feeds = [0], [0], []
    for v in range(count):
        producers = {part.tensors[t].producer for t in part.reads[v]} - {EARLIER}
        needs.append(sum(1 << u for u in producers))
        for place in part.reads[v]:
            tensor = part.tensors[place]
            if not tensor.stays:
                others.append(sum(1 << reader for reader in tensor.readers if reader != v))
                sizes.append(tensor.size)
                overwritten.append(int(place in part.overwrites[v]))
        read_start.append(len(others))
        written = [part.tensors[t] for t in part.writes[v]]
        leaves.append(sum(t.size for t in written if t.readers or t.stays))
        feeds += sorted({reader for t in written for reader in t.readers})
        feed_start.append(len(feeds))
    return Steps(
        needs=as_words(needs, count),
        read_start=frozen(read_start),
        others=as_words(others, count),
        read_size=frozen(sizes or np.zeros(0)),
        is_overwritten=frozen(overwritten or np.zeros(0)),
        feed_start=frozen(feed_start),
        feeds=frozen(feeds or np.zeros(0)),
        running=frozen(part.running),
        written=frozen(part.written),
        leaves=frozen(leaves),
        least=frozen(least),
    )


def as_words(sets: list[int], count: int) -> IntArray:
    """Return sets of operators as rows of 64-bit words, shape (sets, W)."""
    words = (count + 63) // 64
    given = b"".join(members.to_bytes(8 * words, "little") for members in sets)
    return frozen(np.frombuffer(given, np.int64).reshape(len(sets), words))


def first_level(part: Section, steps: Steps, cost: int) -> Level:
    """Return the level of the empty down-set."""
    count, words = steps.needs.shape
    ready = [at for at in range(count) if not steps.needs[at].any()]
    live = part.base + sum(t.size for t in part.tensors if t.producer == EARLIER)
    return Level(
        np.zeros((1, words), np.int64),
        as_words([sum(1 << at for at in ready)], count).copy(),
        np.array([live]),
        np.array([cost]),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )
