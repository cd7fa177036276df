"""Checks the kinds critical-path and assignment-load, and what loads prove for an interval.

An interval is what lies between the end of its first operator and the start of its last one; either
may be missing, for the begin and the end of the schedule. See the package for the argument.
"""

from typing import Any

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, Rejected, fields, integer, integers
from .instance import Instance
from .paths import NEVER, OUTSIDE, Jump, Network

# A number in a list of its own kind, with what it takes to get there.
NUMBER_BYTES = 80


def critical_path(instance: Instance, payload: Any) -> int:
    """Return the longest path, each operator on its best device."""
    fields(payload, "the payload", set())
    network = Network(instance)
    body = network.between(OUTSIDE, OUTSIDE)
    return network.heads(OUTSIDE, 0, body, OUTSIDE)[1][0]


def assignment_load(instance: Instance, payload: Any) -> int:
    """Return the weighted mean load of the devices, each operator where it weighs least."""
    payload = fields(payload, "the payload", {"weights", "memory_weights"})
    network = Network(instance)
    span = network.devices
    work, memory = (
        integers(payload[name], f"{name} of the payload", 0, LARGEST_AMOUNT)
        for name in ("weights", "memory_weights")
    )
    if not len(work) == len(memory) == span:
        raise Rejected("weights of the payload are not one for each device")
    if not any(work):
        raise Rejected("all weights of the payload are 0")
    spend(2 * len(network.duration) * span)
    least = -sum(weight * room for weight, room in zip(memory, instance.capacity, strict=True))
    for row, needed in zip(network.duration, instance.memory, strict=True):
        least += min(
            work[d] * ticks + memory[d] * needed for d, ticks in enumerate(row) if ticks != NEVER
        )
    return max(0, -(-least // sum(work)))


def ends(network: Network, value: dict[str, Any]) -> tuple[int, int]:
    """Return the first and the last operator of an interval."""
    most = len(network.duration) - 1
    first = integer(value["first"], "first of an interval", OUTSIDE, most)
    return first, integer(value["last"], "last of an interval", OUTSIDE, most)


def by_loads(network: Network, first: int, last: int, body: list[int], rows: Any) -> Jump:
    """Return a lower bound on an interval's ticks, from its rows and the longest paths."""
    devices = network.devices
    sources, targets = (1 if v == OUTSIDE else devices for v in (first, last))
    hold(NUMBER_BYTES * len(body) * devices * (2 * sources + targets))
    spend(devices**2)
    found = [network.heads(first, device, body, last) for device in range(sources)]
    least = [list(to_last) for _, to_last in found]
    tails: dict[int, dict[int, list[int]]] = {}
    if type(rows) is not list:
        raise Rejected("rows of an interval is not a list")
    for value in rows:
        spend(4 + devices)
        row = integers(value, "a row of an interval", 0, LARGEST_AMOUNT)
        if len(row) != 3 + devices or row[0] >= sources or row[1] >= targets:
            raise Rejected(
                "a row of an interval is not two of its devices, a threshold and a weight for each"
            )
        source, target, threshold, *weights = row
        if target not in tails:
            tails[target] = network.tails(body, last, target)
        if not _is_refuted(network, body, found[source][0], tails[target], threshold, weights):
            raise Rejected("the weights of a row do not refute its threshold")
        least[source][target] = max(least[source][target], threshold + 1)
    return Jump(first, last, least)


def _is_refuted(
    network: Network,
    body: list[int],
    heads: dict[int, list[int]],
    tails: dict[int, list[int]],
    threshold: int,
    weights: list[int],
) -> bool:
    """Whether weighted loads show that the operators of an interval exceed a threshold."""
    spend(2 * len(body) * network.devices)
    room: list[tuple[int, int] | None] = [None] * network.devices
    demand = 0
    for v in body:
        cheapest = None
        for d, ticks in enumerate(network.duration[v]):
            head, tail = heads[v][d], tails[v][d]
            if head + ticks + tail > threshold:
                continue
            before, behind = room[d] or (head, tail)
            room[d] = min(before, head), min(behind, tail)
            weighted = weights[d] * ticks
            cheapest = weighted if cheapest is None else min(cheapest, weighted)
        if cheapest is None:
            return True
        demand += cheapest
    offered = 0
    for weight, used in zip(weights, room, strict=True):
        if used is not None:
            offered += weight * (threshold - used[0] - used[1])
    return demand > offered
