"""Checks what prices of devices' time prove of an interval.

Each device has a price for each tick between the two operators of an interval. An operator pays
for the ticks in which it runs, so that all operators together pay at most what all ticks cost. If
they have to pay more in an interval of at most t ticks, however they are placed, it takes at least
t + 1.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, LARGEST_COST, Rejected, fields, integer, integers
from .alike import Pair
from .instance import Instance
from .intervals import NUMBER_BYTES
from .paths import OUTSIDE, Jump, Network


class TimePrices(NamedTuple):
    """Prices of one device: `price[k]` for a tick from the k-th end to the next one.

    Attributes
    ----------
    ends
        Ascending; the first one is 0. Behind the last one, time costs nothing.
    cost
        Of all ticks up to each end.
    """

    ends: Sequence[int]
    price: Sequence[int]
    cost: Sequence[int]

    @classmethod
    def of(cls, ends: Sequence[int], price: Sequence[int]) -> "TimePrices":
        """Return the prices with their sums."""
        paid = (amount * (b - a) for amount, (a, b) in zip(price, pairwise(ends), strict=True))
        return cls(ends, price, [0, *accumulate(paid)])

    def up_to(self, tick: int) -> int:
        """Return the cost of all ticks before the given one."""
        at = bisect_right(self.ends, tick) - 1
        if at >= len(self.price):
            return self.cost[-1]
        return self.cost[at] + (tick - self.ends[at]) * self.price[at]

    def least(self, begin: int, end: int, ticks: int) -> int:
        """Return the least cost of so many ticks in a row, not before `begin` and not after `end`.

        As the start moves on, the cost changes at a constant rate until the start or the end of
        these ticks comes to a change of the price. So one of those is the best, or the first or the
        last start.
        """
        last = end - ticks
        starts = {begin, last}
        for change in self.ends:
            starts.update(start for start in (change, change - ticks) if begin < start < last)
        return min(self.up_to(start + ticks) - self.up_to(start) for start in starts)


def by_time_prices(
    instance: Instance, network: Network, jump: Jump, body: list[int], rows: Any
) -> None:
    """Raise the bounds of an interval to those that prices of time prove.

    Parameters
    ----------
    rows
        Of each, the bound holds for all pairs of devices that are like its pair.
    """
    if type(rows) is not list:
        raise Rejected("prices of an interval is not a list")
    hold(NUMBER_BYTES * len(body) * network.devices * 2)
    names = {"devices", "threshold", "ends", "prices"}
    for value in rows:
        spend(16)
        row = fields(value, "a row of prices", names)
        pair = integers(row["devices"], "devices of a row of prices", 0, network.devices)
        if len(pair) != 2 or pair[0] >= len(jump.least) or pair[1] >= len(jump.least[0]):
            raise Rejected("devices of a row of prices are not two of its interval")
        threshold = integer(row["threshold"], "threshold of a row of prices", 0, LARGEST_COST)
        tables = _tables(network, threshold, row["ends"], row["prices"])
        if not _is_refuted(network, jump, body, (pair[0], pair[1]), threshold, tables):
            raise Rejected("prices of time do not refute their threshold")
        has_ends = jump.first != OUTSIDE, jump.last != OUTSIDE
        alike = network.alike(instance)
        spend(len(jump.least) * len(jump.least[0]))
        for source, target in pairs_like(alike, (pair[0], pair[1]), *has_ends):
            jump.least[source][target] = max(jump.least[source][target], threshold + 1)


def pairs_like(
    alike: Sequence[int], pair: Pair, has_first: bool, has_last: bool
) -> list[tuple[int, int]]:
    """Return the pairs of devices that exchanges of devices which are alike make of one.

    Parameters
    ----------
    alike
        For each device, the first one that it is like.
    has_first, has_last
        Whether the interval has these ends; where it does not, the device is 0 and means nothing.
    """
    source, target = pair
    span = range(len(alike))
    sources = [d for d in span if alike[d] == alike[source]] if has_first else [0]
    targets = [d for d in span if alike[d] == alike[target]] if has_last else [0]
    found = [(d, e) for d in sources for e in targets]
    if has_first and has_last:
        found = [(d, e) for d, e in found if (d == e) == (source == target)]
    return found


def _tables(network: Network, threshold: int, ends: Any, prices: Any) -> list[TimePrices]:
    """Return the prices of each device; those that are the same are one object."""
    ends = integers(ends, "ends of a row of prices", 1, threshold)
    spend(len(ends) * (1 + network.devices))
    hold(NUMBER_BYTES * (len(ends) + 1) * (2 + 2 * network.devices))
    if any(a >= b for a, b in pairwise(ends)):
        raise Rejected("ends of a row of prices are not ascending")
    if type(prices) is not list or len(prices) != network.devices:
        raise Rejected("prices of a row are not a list for each device")
    found: dict[tuple[int, ...], TimePrices] = {}
    tables = []
    for value in prices:
        price = tuple(integers(value, "prices of a device", 0, LARGEST_AMOUNT))
        if len(price) != len(ends):
            raise Rejected("prices of a device are not one for each end")
        if price not in found:
            found[price] = TimePrices.of([0, *ends], price)
        tables.append(found[price])
    return tables


def _is_refuted(
    network: Network,
    jump: Jump,
    body: list[int],
    pair: Pair,
    threshold: int,
    tables: list[TimePrices],
) -> bool:
    """Whether the operators of an interval have to pay more than all its time costs."""
    source, target = pair
    heads = network.heads(jump.first, source, body, jump.last)[0]
    tails = network.tails(body, jump.last, target)
    spend(2 * len(body) * network.devices)
    demand = 0
    for v in body:
        cheapest = None
        known: dict[tuple[int, int, int, int], int] = {}
        for d, ticks in enumerate(network.duration[v]):
            begin, end = heads[v][d], threshold - tails[v][d]
            if begin + ticks > end:
                continue
            key = id(tables[d]), begin, end, ticks
            if key not in known:
                spend(8 + 8 * len(tables[d].ends))
                known[key] = tables[d].least(begin, end, ticks)
            cheapest = known[key] if cheapest is None else min(cheapest, known[key])
        if cheapest is None:
            return True
        demand += cheapest
    return demand > sum(table.cost[-1] for table in tables)
