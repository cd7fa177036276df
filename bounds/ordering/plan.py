"""Breakpoints: down-sets that some optimal order passes, and the sections between them."""

import bisect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from boundmark.bounds.checker.ordering.instance import Instance
from boundmark.bounds.checker.ordering.order import live_after, read_order
from boundmark.bounds.checker.ordering.section import (
    EARLIER,
    Section,
    always_overwrites,
    may_overwrite,
    section,
)


class Plan:
    """A topological order with breakpoints.

    Attributes
    ----------
    order
        A topological order; its first operators up to a breakpoint are the breakpoint's down-set.
    ends
        The breakpoints, with 0 and the number of operators.
    breakpoints
        How the breakpoints were found, as certificates say it.
    """

    def __init__(self, instance: Instance, order: list[int]) -> None:
        self.instance = instance
        self.order, self._position = read_order(instance, order.copy(), "the order")
        self.ends = [0, len(order)]
        self.breakpoints: list[dict[str, Any]] = []
        self._live = live_after(instance, order)

    def _section(self, begin: int, end: int) -> Section:
        return section(self.instance, self.order, self._position, self._live[begin], begin, end)

    def sections(self) -> list[Section]:
        """Return the sections between the breakpoints."""
        return [self._section(begin, end) for begin, end in itertools.pairwise(self.ends)]

    def section_at(self, number: int) -> Section:
        """Return one of the sections between the breakpoints."""
        begin, end = self.ends[number : number + 2]
        return self._section(begin, end)

    def reorder(self, number: int, places: list[int]) -> None:
        """Reorder the operators of a section."""
        begin, end = self.ends[number : number + 2]
        operators = self.order[begin:end]
        self.order[begin:end] = [operators[at] for at in places]
        for at in range(begin, end):
            self._position[self.order[at]] = at
        self._live[begin:end] = _live_inside(self._section(begin, end))

    def find_forced(self, begin: int = 0, end: int | None = None) -> list[int]:
        """Add the breakpoints within a section that every order passes; return them."""
        end = len(self.order) if end is None else end
        part = self._section(begin, end)
        found = []
        common = part.all
        for at in reversed(range(1, end - begin)):
            common &= part.before[at]
            if not ((1 << at) - 1) & ~common:
                found.append(begin + at)
        found.reverse()
        if found:
            self.breakpoints.append({"forced": found})
            self.ends = sorted({*self.ends, *found})
        return found

    def find_slopes(self, is_spent: Callable[[], bool]) -> None:
        """Add breakpoints on the lower convex hull of L over the operators run, and forced ones.

        Only for the sum. A section with an operator that overwrites in some orders and not in
        others stays whole.
        """
        pending = [pair for pair in itertools.pairwise(self.ends) if pair[1] > pair[0] + 1]
        while pending and not is_spent():
            begin, end = pending.pop()
            inside = [*self.find_forced(begin, end)]
            if not inside:
                inside = [*self._find_slope(begin, end)]
            if inside:
                pending += [
                    pair
                    for pair in itertools.pairwise([begin, *inside, end])
                    if pair[1] > pair[0] + 1
                ]

    def _find_slope(self, begin: int, end: int) -> list[int]:
        part = self._section(begin, end)
        for v, overwritten in enumerate(part.overwrites):
            if overwritten and may_overwrite(part, v) and not always_overwrites(part, v):
                return []
        # Imports what is compiled, and forced breakpoints need nothing of it.
        from boundmark.bounds.ordering.section_network import SectionNetwork

        run, rise = end - begin, self._live[end] - self._live[begin]
        _, side, prices = SectionNetwork(part, run).lowest_below_slope(rise)
        size = int(side.sum())
        if not 0 < size < end - begin:
            return []
        # Move the down-set to the front; keep the order otherwise.
        places = np.argsort(~side, kind="stable").tolist()
        self.reorder(bisect.bisect(self.ends, begin) - 1, places)
        self.breakpoints.append({"at": begin + size, "slope": [rise, run], "prices": prices})
        bisect.insort(self.ends, begin + size)
        return [begin + size]


def _live_inside(part: Section) -> list[int]:
    """Return the live memory L before each operator of a section."""
    left = [len(tensor.readers) + tensor.stays for tensor in part.tensors]
    live = part.base + sum(t.size for t in part.tensors if t.producer == EARLIER)
    found = []
    for read, written in zip(part.reads, part.writes, strict=True):
        found.append(live)
        live += sum(part.tensors[place].size for place in written if left[place])
        for place in read:
            left[place] -= 1
            if not left[place]:
                live -= part.tensors[place].size
    return found
