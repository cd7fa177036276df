"""Checks the kinds of `ordering`: live-cut and downset-dp."""

import bisect
import itertools
from typing import Any

from ..budget import spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .order import live_after, read_order
from .prices import least_slope_value, least_while_running, read_prices
from .search import Search
from .section import Section, always_overwrites, may_overwrite, section


def live_cut(instance: Instance, payload: Any) -> int:
    """Return the bound of live-cut: the maximum or the sum of the operators' least memory."""
    payload = fields(payload, "the payload", {"order", "forced", "cuts"})
    breakpoints = _Breakpoints(instance, payload["order"])
    breakpoints.add_forced(payload["forced"])
    return _bound(instance, breakpoints.sections(), payload["cuts"], {})


def downset_dp(instance: Instance, payload: Any) -> int:
    """Return the bound of downset-dp: the maximum or the sum of the sections' least costs."""
    payload = fields(payload, "the payload", {"order", "stops", "cuts", "searches"})
    breakpoints = _Breakpoints(instance, payload["order"])
    if type(payload["stops"]) is not list:
        raise Rejected("stops of the payload is not a list")
    for point in payload["stops"]:
        spend(8)
        if type(point) is dict and "forced" in point:
            breakpoints.add_forced(fields(point, "a breakpoint", {"forced"})["forced"])
        else:
            breakpoints.add_slope(point)
    sections = breakpoints.sections()
    searches: dict[int, int] = {}
    if type(payload["searches"]) is not list:
        raise Rejected("searches of the payload is not a list")
    for row in payload["searches"]:
        row = integers(row, "a search", 0, LARGEST_AMOUNT)
        if len(row) != 2 or row[0] >= len(sections) or row[0] in searches:
            raise Rejected("a search is not a section of its own and a cost")
        searches[row[0]] = row[1]
    return _bound(instance, sections, payload["cuts"], searches)


class _Breakpoints:
    """Breakpoints that some optimal order passes, as far as they are proven."""

    def __init__(self, instance: Instance, order: Any) -> None:
        self._instance = instance
        self._order, self._position = read_order(instance, order, "order of the payload")
        self._live = live_after(instance, self._order)
        self._ends = [0, len(self._order)]

    def _section(self, begin: int, end: int) -> Section:
        return section(self._instance, self._order, self._position, self._live[begin], begin, end)

    def sections(self) -> list[Section]:
        """Return the sections between the breakpoints."""
        return [self._section(begin, end) for begin, end in itertools.pairwise(self._ends)]

    def _around(self, at: int) -> tuple[int, int]:
        """Return the breakpoints next to a position; raise `Rejected` if it is one itself."""
        place = bisect.bisect(self._ends, at)
        if not 0 < at < len(self._order) or self._ends[place - 1] == at:
            raise Rejected("a breakpoint is not between others")
        return self._ends[place - 1], self._ends[place]

    def add_forced(self, value: Any) -> None:
        """Add breakpoints that every order passes."""
        breakpoints = integers(value, "forced breakpoints", 0, len(self._order))
        if any(first >= second for first, second in itertools.pairwise(breakpoints)):
            raise Rejected("forced breakpoints are not ascending")
        # Each of them may move all that are known.
        spend(len(breakpoints) * (4 + len(self._ends) // 64))
        within: dict[tuple[int, int], list[int]] = {}
        for at in breakpoints:
            within.setdefault(self._around(at), []).append(at)
        for (begin, end), found in within.items():
            part = self._section(begin, end)
            wanted = {at - begin for at in found}
            spend((end - begin) * (1 + (end - begin) // 64))
            # What all the operators behind a place wait for.
            common = part.all
            for at in reversed(range(1, end - begin)):
                common &= part.before[at]
                first = (1 << at) - 1
                if at in wanted and first & ~common:
                    raise Rejected("an order need not pass a breakpoint that is said to be forced")
        for at in breakpoints:
            bisect.insort(self._ends, at)

    def add_slope(self, value: Any) -> None:
        """Add a breakpoint that minimises L less the slope times the number of operators."""
        value = fields(value, "a breakpoint", {"at", "slope", "prices"})
        if self._instance.is_peak:
            raise Rejected("a breakpoint by its slope says nothing about the maximum")
        at = integer(value["at"], "a breakpoint", 0, len(self._order))
        begin, end = self._around(at)
        part = self._section(begin, end)
        for v in range(end - begin):
            if part.overwrites[v] and may_overwrite(part, v) and not always_overwrites(part, v):
                raise Rejected("an operator around a breakpoint overwrites in some orders only")
        slope = integers(value["slope"], "a slope", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        if len(slope) != 2 or slope[1] < 1:
            raise Rejected("a slope is not a number of bytes and a positive number of operators")
        rise, run = slope
        least = least_slope_value(part, read_prices(part, value["prices"]), rise, run)
        if least < run * self._live[at] - rise * (at - begin):
            raise Rejected("the prices of a breakpoint do not show that it is a minimum")
        spend(len(self._ends) // 64)
        bisect.insort(self._ends, at)


def _bound(instance: Instance, sections: list[Section], cuts: Any, searches: dict[int, int]) -> int:
    """Return the maximum or the sum of the sections' bounds."""
    prices: dict[int, Any] = {}
    if type(cuts) is not list:
        raise Rejected("cuts of the payload is not a list")
    for cut in cuts:
        if type(cut) is not list or len(cut) != 2 or type(cut[0]) is not int or cut[0] in prices:
            raise Rejected("a cut is not an operator of its own and its prices")
        prices[cut[0]] = cut[1]
    if not set(prices) <= set(range(len(instance.reads))):
        raise Rejected("a cut is for an operator that does not exist")
    bounds = []
    for number, part in enumerate(sections):
        least = [
            least_while_running(part, v, read_prices(part, prices.get(operator, [])))
            for v, operator in enumerate(part.operators)
        ]
        found = max(least) if instance.is_peak else sum(least)
        # What prices prove may be less than nothing.
        said = searches.get(number, found)
        if said > found:
            found, search = said, Search(part)
            is_refuted = (
                search.refutes_peak(found) if instance.is_peak else search.refutes_sum(least, found)
            )
            if not is_refuted:
                raise Rejected("an order of a section costs less than it is said to")
        bounds.append(found)
    return max(bounds) if instance.is_peak else sum(bounds)
