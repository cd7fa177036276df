"""Checks the kinds that add up intervals: by loads, or by searches too."""

from typing import Any, TypeAlias

from ..budget import hold, spend
from ..values import LARGEST_AMOUNT, LARGEST_COST, Rejected, fields, integers
from .alike import Pair, first_pair, module_key
from .instance import Instance
from .intervals import NUMBER_BYTES, by_loads, ends
from .limits import step_price
from .module_data import Module
from .module_search import REFUTED, search
from .modules import module_of, scratch_for, tensors_written
from .paths import OUTSIDE, Jump, Network

# By module, and whether it has a first and a last operator: by the devices of these, the highest
# threshold.
Refuted: TypeAlias = dict[tuple[object, ...], dict[Pair, int]]


def interval_load(instance: Instance, payload: Any) -> int:
    """Return the bound that loads prove for the last interval, the whole schedule."""
    return _whole(instance, payload, has_searches=False)


def series(instance: Instance, payload: Any) -> int:
    """Return the bound that loads and searches prove for the last interval, the whole schedule."""
    return _whole(instance, payload, has_searches=True)


def _whole(instance: Instance, payload: Any, *, has_searches: bool) -> int:
    intervals = fields(payload, "the payload", {"intervals"})["intervals"]
    network = Network(instance)
    if type(intervals) is not list:
        raise Rejected("intervals of the payload is not a list")
    written = tensors_written(instance)
    hold(NUMBER_BYTES * len(intervals) * network.devices**2)
    jump = None
    refuted: Refuted = {}
    for value in intervals:
        spend(16)
        names = {"first", "last", "rows"} | ({"searches"} if has_searches else set())
        value = fields(value, "an interval", names)
        first, last = ends(network, value)
        body = (network.inside if has_searches else network.between)(first, last)
        jump = by_loads(network, first, last, body, value["rows"])
        if has_searches and value["searches"] != []:
            module = module_of(instance, network, written, (first, last), body)
            _search(module, jump, value["searches"], refuted)
        network.add(jump)
    if jump is None or jump.first != OUTSIDE or jump.last != OUTSIDE:
        raise Rejected("the last interval of the payload is not the whole schedule")
    return jump.least[0][0]


def _search(module: Module, jump: Jump, searches: Any, refuted: Refuted) -> None:
    """Raise the bounds of an interval to those that its searches prove."""
    if type(searches) is not list:
        raise Rejected("searches of an interval is not a list")
    has_ends = jump.first != OUTSIDE, jump.last != OUTSIDE
    key = module_key(module), has_ends
    if key not in refuted:
        hold(NUMBER_BYTES * (len(module.ticks) + len(module.duration) + len(module.waits)))
    known = refuted.setdefault(key, {})
    room = None
    for value in searches:
        spend(8)
        row = integers(value, "a search of an interval", 0, LARGEST_AMOUNT)
        if len(row) != 4 or row[0] >= len(jump.least) or row[1] >= len(jump.least[0]):
            raise Rejected(
                "a search of an interval is not two of its devices, a threshold and steps"
            )
        source, target, threshold, steps = row
        if threshold > LARGEST_COST:
            raise Rejected("the threshold of a search is more than 2^53")
        pair = first_pair(module, (source, target), *has_ends)
        if threshold > known.get(pair, -1):
            spend(steps * step_price(module.devices))
            if has_ends[0]:
                module.allowed[0] = 1 << source
            if has_ends[1]:
                module.allowed[-1] = 1 << target
            room = room or scratch_for(module, lambda size: [0] * size)
            if search(module, room, threshold, steps) != REFUTED:
                raise Rejected("a search does not refute its threshold in as many steps")
            known[pair] = threshold
        jump.least[source][target] = max(jump.least[source][target], threshold + 1)
