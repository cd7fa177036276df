"""Finds devices that are alike: exchanging two of them leaves the instance the same.

Then it changes nothing about a module of it either, and every schedule with the two exchanged is a
schedule as long as before. So a search need not try both where neither is in use, and what it
proves for given devices of a module's first and last operator holds for all pairs of devices that
exchanges make of these.

`alike` has, for each device, the first one that it is like, which may be itself.
"""

from collections.abc import Sequence

from ..budget import spend
from .instance import Instance
from .module_data import Module

Pair = tuple[int, int]


def alike_devices(instance: Instance, duration: Sequence[Sequence[int]]) -> list[int]:
    """Return, for each device, the first device that is like it."""
    span = len(instance.capacity)
    columns = list(zip(instance.capacity, zip(*duration, strict=True), strict=True))
    spend(span * (len(duration) + 1))
    alike = list(range(span))
    for d in range(span):
        for first in range(d):
            if alike[first] == first and columns[first] == columns[d]:
                spend(len(duration) + 4 * span * len(instance.times))
                if all(_is_same_exchanged(row, span, first, d) for row in instance.times):
                    alike[d] = first
                    break
    return alike


def _is_same_exchanged(ticks: Sequence[int], span: int, a: int, b: int) -> bool:
    """Whether ticks from each device to each other one stay as they are if two are exchanged."""
    place = list(range(span))
    place[a], place[b] = b, a
    return all(
        ticks[x * span + y] == ticks[place[x] * span + place[y]]
        for d in (a, b)
        for other in range(span)
        for x, y in ((d, other), (other, d))
    )


def alike_in_module(
    alike: Sequence[int], ticks: Sequence[int], tensor: Sequence[int], span: int
) -> list[int]:
    """Return the devices that are alike in a module, too: none if an interval tells them apart."""
    for arc, name in enumerate(tensor):
        if name < 0 and any(first != d for d, first in enumerate(alike)):
            spend(4 * span**2)
            row = ticks[arc * span**2 : (arc + 1) * span**2]
            exchanges = ((first, d) for d, first in enumerate(alike) if first != d)
            if not all(_is_same_exchanged(row, span, *exchange) for exchange in exchanges):
                return list(range(span))
    return list(alike)


def first_pair(module: Module, pair: Pair, has_first: bool, has_last: bool) -> Pair:
    """Return the first pair of devices, of the ends of a module, that is like the given one."""
    alike, (source, target) = module.alike, pair
    source, was = (int(alike[source]), source) if has_first else (source, -1)
    if has_last:
        found = int(alike[target])
        if target == was:
            target = source
        elif has_first and found == source:
            # The first one is taken by the other end, so it is the second of those alike.
            target = next(d for d in range(found + 1, module.devices) if alike[d] == found)
        else:
            target = found
    return source, target


def module_key(module: Module) -> tuple[object, ...]:
    """Return a key of a module: modules with the same key have the same schedules."""
    names: dict[int, int] = {-1: -1}
    tensor = tuple(names.setdefault(int(name), len(names)) for name in module.tensor)
    spend(len(module.ticks) + len(module.duration) + len(module.waits))
    return tuple(
        field if isinstance(field, int) else tuple(map(int, field))
        for field in module._replace(tensor=tensor)
    )
