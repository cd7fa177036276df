"""Checks the kind in which paths, loads and memory have prices: path-prices.

See the package for the argument.
"""

from typing import Any, NamedTuple

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .intervals import NUMBER_BYTES
from .paths import NEVER, OUTSIDE, Network
from .series import prove_intervals


class Arc(NamedTuple):
    """A part of the paths: from one operator to another that waits for it.

    Attributes
    ----------
    amount
        How many of the paths lead here.
    near, far
        What the arc takes over from the costs of its first and its last operator, by device.
    """

    first: int
    last: int
    amount: int
    near: list[int]
    far: list[int]


def path_prices(instance: Instance, payload: Any) -> int:
    """Return the least that priced paths, loads and memory cost on any devices, per price."""
    payload = fields(payload, "the payload", {"intervals", "arcs", "work", "memory"})
    network = Network(instance)
    prove_intervals(instance, network, payload["intervals"])
    span, nodes = network.devices, len(network.duration)
    work, memory = (
        integers(payload[name], f"{name} of the payload", 0, LARGEST_AMOUNT)
        for name in ("work", "memory")
    )
    if not len(work) == len(memory) == span:
        raise Rejected("work and memory of the payload are not one for each device")
    hold(NUMBER_BYTES * nodes * 2 * span)
    spend(2 * nodes * span)
    allowed = [[d for d in range(span) if row[d] != NEVER] for row in network.duration]
    cost = [[memory[d] * needed for d in range(span)] for needed in instance.memory]
    begins, ends = [0] * (nodes + 1), [0] * (nodes + 1)
    # Entry -1 is outside, where there are no devices to choose from.
    allowed.append([0])
    cost.append([0])
    least = -sum(price * room for price, room in zip(memory, instance.capacity, strict=True))
    for arc in _arcs(network, payload["arcs"]):
        lag = _lag(network, arc)
        least += min(
            arc.amount * lag[d][e] - arc.near[d] - arc.far[e]
            for d in allowed[arc.first]
            for e in allowed[arc.last]
        )
        for end, prices in ((arc.first, arc.near), (arc.last, arc.far)):
            cost[end] = [known + price for known, price in zip(cost[end], prices, strict=True)]
        begins[arc.first] += arc.amount
        ends[arc.last] += arc.amount
    if begins != ends:
        raise Rejected("as many paths of the payload have to leave an operator as arrive there")
    paths_and_work = begins[OUTSIDE] + sum(work)
    if not paths_and_work:
        raise Rejected("the payload has no paths and no work")
    for v in range(nodes):
        row = network.duration[v]
        least += min((begins[v] + work[d]) * row[d] + cost[v][d] for d in allowed[v])
    return max(0, -(-(least + cost[OUTSIDE][0]) // paths_and_work))


def _arcs(network: Network, value: Any) -> list[Arc]:
    """Return the arcs of a payload."""
    if type(value) is not list or not all(type(row) is list and len(row) > 2 for row in value):
        raise Rejected("arcs of the payload is not a list of lists of at least three integers")
    span, last = network.devices, len(network.duration) - 1
    hold(NUMBER_BYTES * len(value) * 2 * span)
    spend(len(value) * span)
    arcs = []
    for row in value:
        first, second = (integer(end, "an end of an arc", OUTSIDE, last) for end in row[:2])
        amount = integer(row[2], "the amount of an arc", 0, LARGEST_AMOUNT)
        prices = integers(row[3:], "an arc", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        wide = 1 if first == OUTSIDE else span
        if len(prices) != wide + (1 if second == OUTSIDE else span):
            raise Rejected("an arc does not have a price for each device of its two operators")
        arcs.append(Arc(first, second, amount, prices[:wide], prices[wide:]))
    return arcs


def _lag(network: Network, arc: Arc) -> list[list[int]]:
    """Return the least ticks from the end of one operator to the start of another, by devices."""
    span = network.devices
    sources, targets = (1 if v == OUTSIDE else span for v in (arc.first, arc.last))
    jumps = network.jumps_to.get(arc.last, [])
    inputs = [] if arc.last == OUTSIDE else network.inputs[arc.last]
    spend((len(inputs) + len(jumps)) * span**2 + sources * targets)
    tables = [jump.least for jump in jumps if jump.first == arc.first]
    for u, ticks in inputs:
        if u == arc.first:
            tables.append([ticks[d * span : (d + 1) * span] for d in range(span)])
    if OUTSIDE in (arc.first, arc.last):
        # Nothing is before the begin of the schedule, nor behind its end.
        tables.append([[0] * targets for _ in range(sources)])
    if not tables:
        raise Rejected("an arc leads to an operator that does not read what the first one writes")
    return [[max(table[d][e] for table in tables) for e in range(targets)] for d in range(sources)]
