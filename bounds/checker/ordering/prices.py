"""Least values of L over down-sets, proven by prices of tensors."""

from typing import Any

from ..budget import spend
from ..values import LARGEST_AMOUNT, Rejected, integers
from .section import EARLIER, Section, may_overwrite

# For a tensor of a section, pairs of a reader and an amount.
Prices = dict[int, list[tuple[int, int]]]


def read_prices(part: Section, value: Any) -> Prices:
    """Return prices from rows (tensor, reader, amount), with numbers as in the instance."""
    if type(value) is not list:
        raise Rejected("prices of the payload is not a list")
    place = {operator: at for at, operator in enumerate(part.operators)}
    tensors = {tensor.number: at for at, tensor in enumerate(part.tensors)}
    spend(4 * len(value) + len(place) + len(tensors))
    found: Prices = {}
    readers: dict[int, set[int]] = {}
    for row in value:
        row = integers(row, "a row of prices", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        if len(row) != 3 or row[0] not in tensors or row[1] not in place:
            raise Rejected("a row of prices is not a tensor of the section, a reader and an amount")
        tensor = tensors[row[0]]
        if tensor not in readers:
            spend(len(part.tensors[tensor].readers))
            readers[tensor] = set(part.tensors[tensor].readers)
        if place[row[1]] not in readers[tensor]:
            raise Rejected("a price is for an operator that does not read the tensor")
        found.setdefault(tensor, []).append((place[row[1]], row[2]))
    return found


def net_prices(part: Section, prices: Prices, scale: int, certain: int) -> tuple[int, list[int]]:
    """Return a constant and a coefficient of each operator that add up to at most scale L(D)."""
    spend(len(part.operators) + sum(2 + len(tensor.readers) for tensor in part.tensors))
    constant, net = scale * part.base, [0] * len(part.operators)
    for at, tensor in enumerate(part.tensors):
        size = scale * tensor.size
        given = prices.get(at)
        if tensor.stays:
            # It is there as soon as its producer is in D: the price of a reader that comes later.
            net[tensor.producer] += size
            size, given = 0, given or []
        elif given is None:
            outside = [reader for reader in tensor.readers if certain >> reader & 1]
            given = [(outside[0], size)] if outside else []
        if len({reader for reader, _ in given}) < len(given):
            raise Rejected("a tensor has two prices for one reader")
        if sum(max(0, amount) for _, amount in given) > size:
            raise Rejected("the prices of a tensor add up to more than its size, or it stays")
        for reader, amount in given:
            if tensor.producer == EARLIER:
                constant += amount
            else:
                net[tensor.producer] += amount
            net[reader] -= amount
    return constant, net


def least_while_running(part: Section, v: int, prices: Prices) -> int:
    """Return a lower bound on the memory while an operator of a section runs."""
    outside = part.behind[v] | 1 << v
    constant, net = net_prices(part, prices, 1, outside)
    for u, amount in enumerate(net):
        if part.before[v] >> u & 1:
            constant += amount
        elif not outside >> u & 1:
            constant += min(0, amount)
    saved = part.written[v] if part.overwrites[v] and may_overwrite(part, v) else 0
    return constant + part.running[v] - saved


def least_slope_value(part: Section, prices: Prices, rise: int, run: int) -> int:
    """Return a lower bound on run L(D) - rise |D| over the section's down-sets D."""
    constant, net = net_prices(part, prices, run, 0)
    return constant + sum(min(0, amount - rise) for amount in net)
