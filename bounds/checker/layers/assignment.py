"""Checks solutions of `layers`, and computes what they cost."""

import itertools
from typing import Any

from ..budget import spend
from ..values import Rejected, integers
from .instance import Instance, memory


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return the largest load, the sum of loads, or the makespan."""
    n = len(instance.weights)
    given = integers(solution["devices"], "devices", 0, len(instance.devices) - 1)
    if len(given) != n:
        raise Rejected("the solution does not have one device for each layer")
    spend(8 * n + len(instance.devices))
    runs = [(device, len(list(group))) for device, group in itertools.groupby(given)]
    order = [device for device, _ in runs]
    if len(set(order)) < len(order):
        raise Rejected("the layers of a device are not contiguous")
    if not instance.is_free and order != sorted(order):
        raise Rejected("stages do not follow the order of the devices")
    loads, first = [], 0
    for number, (device, length) in enumerate(runs):
        kind, end = instance.devices[device], first + length
        if not instance.apart[first]:
            raise Rejected("layers that are joined are on two devices")
        in_flight = min(instance.in_flight, len(runs) - number)
        if memory(instance, first, end, in_flight) > instance.capacity[kind]:
            raise Rejected("a device holds more than its capacity")
        load = sum(instance.time[kind][first:end])
        if end < n:
            receiver = instance.devices[runs[number + 1][0]]
            load += instance.transfer[instance.link[kind][receiver]][end - 1]
        loads.append(load)
        first = end
    return instance.adds * sum(loads) + instance.rounds * max(loads)
