"""Dynamic programming over the down-sets of a section, level by level, with a limited width.

An order is a chain of down-sets, and what an operator takes after a down-set does not depend on how
that was reached; so of all orders of a down-set only the cheapest counts. With a limited width, the
cheapest down-sets of each size are kept. What the cheapest one costs that was not kept is still a
lower bound, and if all were kept, the search is exact.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from boundmark.bounds.checker.ordering.section import Section
from boundmark.bounds.ordering.kernels.levels import Level, count_members, expand
from boundmark.bounds.ordering.search.steps import first_level, steps_of
from boundmark.problems.arrays import IntArray

# More than any cost.
_NO_LIMIT = 2**62


class Found(NamedTuple):
    """The result of a search.

    Attributes
    ----------
    cost, places
        Of the best order below the limit, by places in the section; None if there is none.
    lower
        No order costs less.
    steps
        How many steps from one down-set to the next were looked at.
    largest
        The number of down-sets of two sizes that follow each other, at most.
    """

    cost: int | None
    places: list[int] | None
    lower: int
    steps: int
    largest: int


class SectionSearch:
    """Searches of one section.

    Parameters
    ----------
    least
        The least memory while each operator runs.
    memory_bytes
        What the next level may take while it is filled; beyond that, its width is reduced.
    """

    def __init__(self, part: Section, is_peak: bool, least: list[int], memory_bytes: int) -> None:
        self._part, self._is_peak = part, is_peak
        self._steps = steps_of(part, least)
        self._sum = sum(least)
        # Of the next level: sets, four numbers, and the table, which is at most four times as long.
        self._most_room = memory_bytes // (8 * (2 * self._steps.needs.shape[1] + 4 + 4))

    def run(self, limit: int, floor: int, width: int, is_spent: Callable[[], bool]) -> Found | None:
        """Look for orders that cost less than a limit; None if the time ends before.

        Parameters
        ----------
        floor
            What is known to be needed: a maximum of less counts as much.
        width
            How many down-sets of each size are kept.
        """
        start = floor if self._is_peak else self._sum
        if start >= limit:
            return Found(None, None, limit, 0, 0)
        level = first_level(self._part, self._steps, start)
        counts = np.zeros(1, np.int64)
        lower, largest = limit, 0
        trail: list[tuple[IntArray, IntArray]] = []
        for _ in self._part.operators:
            if is_spent():
                return None
            room = count_members(level.ready)
            following = self._next(level, room, limit, counts)
            largest = max(largest, len(level.cost) + len(following.cost))
            ready = count_members(following.ready)
            fits = len(following.cost) * self._most_room // max(1, ready)
            level, dropped = _cheapest(following, max(1, min(width, fits)))
            lower = min(lower, dropped)
            trail.append((level.before, level.operator))
            if not len(level.cost):
                return Found(None, None, lower, int(counts[0]), largest)
        places, at = [], 0
        for before, operator in reversed(trail):
            places.append(int(operator[at]))
            at = int(before[at])
        cost = int(level.cost[0])
        return Found(cost, places[::-1], min(lower, cost), int(counts[0]), largest)

    def _next(self, level: Level, room: int, limit: int, counts: IntArray) -> Level:
        words = level.done.shape[1]
        following = Level(
            np.empty((room, words), np.int64),
            np.empty((room, words), np.int64),
            *(np.empty(room, np.int64) for _ in range(4)),
        )
        table = np.full(1 << (2 * room + 2).bit_length(), -1)
        size = expand(int(self._is_peak), limit, level, following, table, self._steps, counts)
        return Level(*(np.ascontiguousarray(field[:size]) for field in following))


def _cheapest(level: Level, width: int) -> tuple[Level, int]:
    """Return so many of the cheapest down-sets, and the cost of the cheapest other one."""
    if len(level.cost) <= width:
        return level, _NO_LIMIT
    by_cost = np.lexsort((level.live, level.cost))
    kept = np.sort(by_cost[:width])
    return Level(*(field[kept] for field in level)), int(level.cost[by_cost[width]])
