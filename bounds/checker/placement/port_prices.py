"""Checks what prices of work and of transfers prove of an interval.

Each tick of a device's work has a price, and so has each tick in which a device sends, or receives.
A tensor pays for its transfers. It hands over what it would pay to the operators that write and
read it, depending on where they are; where it is not moved, these get nothing together. So all that
operators pay, less what is handed over, is paid for ticks that there are. If it is more than all
ticks cost in an interval of at most t ticks, the interval takes at least t + 1.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, LARGEST_COST, Rejected, fields, integer, integers
from .instance import Instance
from .intervals import NUMBER_BYTES
from .paths import OUTSIDE, Jump, Network
from .time_prices import pairs_like


class Reading(NamedTuple):
    """A tensor of an interval and one of its readers there.

    Attributes
    ----------
    tensor, producer, reader
        Their numbers.
    group
        Readings of one group hand over the same.
    """

    tensor: int
    producer: int
    reader: int
    group: int


class PortPrices(NamedTuple):
    """Prices of an interval that takes at most `threshold` ticks.

    Attributes
    ----------
    work, send, receive
        Of a tick, for each device.
    near, far
        For each group of readings and each device: what the producer there, and the reader there,
        pays more for a reading.
    """

    threshold: int
    work: Sequence[int]
    send: Sequence[int]
    receive: Sequence[int]
    near: Sequence[Sequence[int]]
    far: Sequence[Sequence[int]]


def readings_inside(instance: Instance, first: int, last: int, body: list[int]) -> list[Reading]:
    """Return the readings of an interval in order, each in group 0.

    The first operator writes some of these tensors, and the last one reads some.
    """
    spend(len(instance.producer) + len(body))
    writing, reading = {*body, first} - {OUTSIDE}, {*body, last} - {OUTSIDE}
    found = []
    for tensor, producer in enumerate(instance.producer):
        if producer in writing:
            spend(len(instance.consumers[tensor]))
            found += [
                Reading(tensor, producer, reader, 0)
                for reader in instance.consumers[tensor]
                if reader in reading
            ]
    return found


def by_port_prices(
    instance: Instance, network: Network, jump: Jump, body: list[int], groups: Any, rows: Any
) -> None:
    """Raise the bounds of an interval to those that prices of work and of transfers prove.

    Parameters
    ----------
    groups
        One for each reading inside, in order; none if there are no rows.
    rows
        Of each, the bound holds for all pairs of devices that are like its pair.
    """
    if type(rows) is not list:
        raise Rejected("ports of an interval is not a list")
    groups = integers(groups, "groups of an interval", 0, LARGEST_COST)
    if not rows:
        if groups:
            raise Rejected("groups of an interval are of no use without ports")
        return
    readings = readings_inside(instance, jump.first, jump.last, body)
    if len(groups) != len(readings):
        raise Rejected("groups of an interval are not one for each reading inside")
    ends = len(jump.least) + len(jump.least[0])
    hold(NUMBER_BYTES * (8 * len(readings) + (2 + ends) * len(body) * network.devices))
    readings = [
        reading._replace(group=group) for reading, group in zip(readings, groups, strict=True)
    ]
    count = 1 + max(groups, default=-1)
    heads: dict[int, dict[int, list[int]]] = {}
    tails: dict[int, dict[int, list[int]]] = {}
    for value in rows:
        pair, row = _row(network, jump, count, value)
        if not _is_covered(instance, network, readings, row):
            raise Rejected("readings of an interval hand over more than transfers pay")
        source, target = pair
        if source not in heads:
            heads[source] = network.heads(jump.first, source, body, jump.last)[0]
        if target not in tails:
            tails[target] = network.tails(body, jump.last, target)
        if not is_refuted(network, jump, pair, heads[source], tails[target], readings, row):
            raise Rejected("prices of ports do not refute their threshold")
        has_ends = jump.first != OUTSIDE, jump.last != OUTSIDE
        alike = network.alike(instance)
        spend(len(jump.least) * len(jump.least[0]))
        for source, target in pairs_like(alike, pair, *has_ends):
            jump.least[source][target] = max(jump.least[source][target], row.threshold + 1)


def _row(
    network: Network, jump: Jump, count: int, value: Any
) -> tuple[tuple[int, int], PortPrices]:
    """Read a row: the devices of the interval's ends, and the prices."""
    span = network.devices
    spend(16 + 3 * span)
    names = {"devices", "threshold", "work", "send", "receive", "near", "far"}
    row = fields(value, "a row of ports", names)
    pair = integers(row["devices"], "devices of a row of ports", 0, span)
    if len(pair) != 2 or pair[0] >= len(jump.least) or pair[1] >= len(jump.least[0]):
        raise Rejected("devices of a row of ports are not two of its interval")
    threshold = integer(row["threshold"], "threshold of a row of ports", 0, LARGEST_COST)
    of_devices = [
        integers(row[name], f"{name} of a row of ports", 0, LARGEST_AMOUNT)
        for name in ("work", "send", "receive")
    ]
    if any(len(prices) != span for prices in of_devices):
        raise Rejected("prices of a row of ports are not one for each device")
    work, send, receive = of_devices
    near, far = (_handed(row[name], f"{name} of a row of ports", count, span)
                 for name in ("near", "far"))  # fmt: skip
    return (pair[0], pair[1]), PortPrices(threshold, work, send, receive, near, far)


def _handed(table: Any, what: str, count: int, span: int) -> list[list[int]]:
    """Read an amount for each group of readings and each device."""
    if type(table) is not list or len(table) != count:
        raise Rejected(f"{what} is not a list for each group")
    spend(count * (1 + span))
    hold(NUMBER_BYTES * 2 * count * span)
    amounts = [integers(row, what, -LARGEST_AMOUNT, LARGEST_AMOUNT) for row in table]
    if any(len(row) != span for row in amounts):
        raise Rejected(f"{what} is not one amount for each device")
    return amounts


def _is_covered(
    instance: Instance, network: Network, readings: Sequence[Reading], row: PortPrices
) -> bool:
    """Whether no tensor hands over more than its transfers pay, wherever it is read.

    Where transfers are per tensor, readers on one device share one.
    """
    spend(3 * len(readings))
    groups_of: dict[int, list[int]] = {}
    for reading in readings:
        groups_of.setdefault(reading.tensor, []).append(reading.group)
    sorts: set[tuple[int, tuple[int, ...]]] = set()
    for tensor, groups in groups_of.items():
        size = instance.size[tensor]
        if instance.transfers == "per-tensor":
            sorts.add((size, tuple(sorted(groups))))
        else:
            sorts.update((size, (group,)) for group in groups)
    span = network.devices
    for size, shared in sorts:
        spend(span**2 * (1 + len(shared)))
        for d in range(span):
            for e in range(span):
                amounts = [row.near[group][d] + row.far[group][e] for group in shared]
                paid = (row.send[d] + row.receive[e]) * instance.times[size][d * span + e]
                if sum(amount for amount in amounts if amount > 0) > paid:
                    return False
    return True


def is_refuted(
    network: Network,
    jump: Jump,
    pair: tuple[int, int],
    heads: Mapping[int, Sequence[int]],
    tails: Mapping[int, Sequence[int]],
    readings: Sequence[Reading],
    row: PortPrices,
) -> bool:
    """Whether the operators of an interval have to pay more than all its ticks cost.

    Parameters
    ----------
    pair
        Devices of the first and the last operator.
    heads, tails
        Least ticks before and after each operator in between, by device.
    """
    span = network.devices
    spend((2 * len(heads) + 2 * len(readings)) * span)
    more = {v: [0] * span for v in (*heads, jump.first, jump.last)}
    for reading in readings:
        for v, amounts in (
            (reading.producer, row.near[reading.group]),
            (reading.reader, row.far[reading.group]),
        ):
            more[v] = [known + amount for known, amount in zip(more[v], amounts, strict=True)]
    ends = zip((jump.first, jump.last), pair, strict=True)
    demand = sum(more[v][d] for v, d in ends if v != OUTSIDE)
    room: list[tuple[int, int] | None] = [None] * span
    for v in heads:
        cheapest = None
        for d, ticks in enumerate(network.duration[v]):
            head, tail = heads[v][d], tails[v][d]
            if head + ticks + tail > row.threshold:
                continue
            before, behind = room[d] or (head, tail)
            room[d] = min(before, head), min(behind, tail)
            paid = row.work[d] * ticks + more[v][d]
            cheapest = paid if cheapest is None else min(cheapest, paid)
        if cheapest is None:
            return True
        demand += cheapest
    offered = row.threshold * (sum(row.send) + sum(row.receive))
    for price, used in zip(row.work, room, strict=True):
        if used is not None:
            offered += price * (row.threshold - used[0] - used[1])
    return demand > offered
