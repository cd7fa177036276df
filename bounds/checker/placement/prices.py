"""Checks the kinds with prices of work, memory and paths: path-prices, assignment-load."""

from collections.abc import Iterator
from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .intervals import NUMBER_BYTES
from .paths import NEVER, OUTSIDE, Network
from .series import prove_intervals


def assignment_load(instance: Instance, payload: Any) -> int:
    """Return the bound without paths: the weighted mean load of the devices."""
    given = fields(payload, "the payload", {"weights", "memory_weights"})
    prices = {"work": given["weights"], "memory": given["memory_weights"]}
    return path_prices(instance, {"intervals": [], "arcs": [], **prices})


def path_prices(instance: Instance, payload: Any) -> int:
    """Return the least priced sum of paths, loads and memory, divided by the prices of time."""
    payload = fields(payload, "the payload", {"intervals", "arcs", "work", "memory"})
    network = Network(instance)
    prove_intervals(instance, network, payload["intervals"], has_searches=True)
    span, nodes = network.devices, len(network.duration)
    work, memory = (
        integers(payload[name], f"prices of {name} of the payload", 0, LARGEST_AMOUNT)
        for name in ("work", "memory")
    )
    if not len(work) == len(memory) == span:
        raise Rejected("prices of the payload are not one for each device")
    hold(NUMBER_BYTES * nodes * 2 * span)
    spend(2 * nodes * span)
    # Entry -1 is outside, where there are no devices to choose from.
    allowed = [[d for d in range(span) if row[d] != NEVER] for row in network.duration] + [[0]]
    cost = [[memory[d] * needed for d in range(span)] for needed in instance.memory] + [[0]]
    begins, ends = [0] * (nodes + 1), [0] * (nodes + 1)
    least = -sum(price * room for price, room in zip(memory, instance.capacity, strict=True))
    for first, last, amount, near, far in _arcs(network, payload["arcs"]):
        lag = _lag(network, first, last)
        least += min(
            amount * lag[d][e] - near[d] - far[e] for d in allowed[first] for e in allowed[last]
        )
        for end, taken in ((first, near), (last, far)):
            cost[end] = [known + more for known, more in zip(cost[end], taken, strict=True)]
        begins[first] += amount
        ends[last] += amount
    if begins != ends:
        raise Rejected("as many paths of the payload have to leave an operator as arrive there")
    total = begins[OUTSIDE] + sum(work)
    if not total:
        raise Rejected("the payload has no paths, and all prices of work are 0")
    for v, row in enumerate(network.duration):
        least += min((begins[v] + work[d]) * row[d] + cost[v][d] for d in allowed[v])
    return max(0, -(-(least + cost[OUTSIDE][0]) // total))


def _arcs(network: Network, value: Any) -> Iterator[tuple[int, int, int, list[int], list[int]]]:
    """Yield two operators, a number of paths, and what is handed over to either, by device."""
    if type(value) is not list or not all(type(row) is list and len(row) > 2 for row in value):
        raise Rejected("arcs of the payload is not a list of lists of at least three integers")
    span, highest = network.devices, len(network.duration) - 1
    spend(len(value) * (8 + 2 * span))
    for row in value:
        first, last = (integer(end, "an end of an arc", OUTSIDE, highest) for end in row[:2])
        amount = integer(row[2], "the amount of an arc", 0, LARGEST_AMOUNT)
        taken = integers(row[3:], "an arc", -LARGEST_AMOUNT, LARGEST_AMOUNT)
        wide = 1 if first == OUTSIDE else span
        if len(taken) != wide + (1 if last == OUTSIDE else span):
            raise Rejected("an arc does not have a price for each device of its two operators")
        yield first, last, amount, taken[:wide], taken[wide:]


def _lag(network: Network, first: int, last: int) -> list[list[int]]:
    """Return the least ticks from the end of one operator to the start of another, by devices."""
    span = network.devices
    sources, targets = (1 if v == OUTSIDE else span for v in (first, last))
    jumps = network.jumps_to.get(last, [])
    inputs = [] if last == OUTSIDE else network.inputs[last]
    spend((len(inputs) + len(jumps)) * span**2 + sources * targets)
    tables = [jump.least for jump in jumps if jump.first == first]
    of_tensors = [ticks for u, ticks in inputs if u == first]
    tables += [[t[d * span : (d + 1) * span] for d in range(span)] for t in of_tensors]
    if OUTSIDE in (first, last):
        # Nothing is before the begin of the schedule, nor behind its end.
        tables.append([[0] * targets for _ in range(sources)])
    if not tables:
        raise Rejected("an arc leads to an operator that does not read what the first one writes")
    return [[max(table[d][e] for table in tables) for e in range(targets)] for d in range(sources)]
