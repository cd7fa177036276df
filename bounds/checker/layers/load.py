"""Bounds the bottleneck of `layers` by what the layers need of all devices' time together.

Say every device takes less than the bound, at most T = bound - 1. A layer that takes a share x =
time / T of its device's time counts u(x), where u is a dual feasible function: shares that add up
to at most 1 count for at most 1 in sum. Here, for `steps` k >= 1, u(x) = x if (k + 1) x is an
integer, else floor((k + 1) x) / k ([FEKETE01]); for k = 0, u(x) = x. It is one: if shares of the
first kind add up to s, the products (k + 1) x of the others, each rounded down, are less than
(k + 1) (1 - s) in sum, so at most that less 1, which is at most k (1 - s).

So each device counts for at most 1, and with a price y >= 0 for each type, all layers count for at
most the prices of all devices. If each layer counts, on the type where it counts least, for more
than that in sum, there is no such assignment. It does not matter which layers a device has, in how
many stages, nor what they hold. With v virtual stages, each device sends v - 1 times at least,
which leaves less of T for layers.
"""

from typing import Any

from ..budget import spend
from ..values import LARGEST_COST, Rejected, fields, integer, integers
from .instance import Instance
from .limits import MOST_PRICE, MOST_STEPS


def layer_load(instance: Instance, payload: Any) -> int:
    """Return the bound of a payload if the layers need more time than all devices have."""
    payload = fields(payload, "the payload", {"bound", "steps", "prices"})
    bound = integer(payload["bound"], "bound of the payload", 0, LARGEST_COST)
    steps = integer(payload["steps"], "steps of the payload", 0, MOST_STEPS)
    prices = integers(payload["prices"], "prices of the payload", 0, MOST_PRICE)
    if instance.adds:
        raise Rejected("the kind bounds the bottleneck, and the instance has another goal")
    if len(prices) != len(instance.members):
        raise Rejected("prices of the payload are not one for each type of device")
    spend(4 * len(instance.weights) * len(prices))
    if bound and not is_refuted(instance, bound - 1, steps, prices):
        raise Rejected("the layers may fit into the time of all devices")
    return bound


def is_refuted(instance: Instance, most: int, steps: int, prices: list[int]) -> bool:
    """Whether all layers count for more than all devices, if each takes at most so many ticks."""
    least = min((min(row, default=0) for row in instance.transfer), default=0)
    most -= (instance.virtual_stages - 1) * least
    if most < 0:
        return True
    # All counts are multiplied by `steps` and `most`, where these are not 0.
    scale = max(1, steps) * max(1, most)
    have = scale * sum(map(int.__mul__, prices, map(len, instance.members)))
    need = 0
    for times in zip(*instance.time, strict=True):
        counts = [
            price * _count(time, most, steps)
            for time, price in zip(times, prices, strict=True)
            if time <= most
        ]
        if not counts:
            return True
        need += min(counts)
    return need > have


def _count(time: int, most: int, steps: int) -> int:
    """Return u(time / most), multiplied by `steps` and `most`."""
    if steps == 0:
        return time
    # Where there are no ticks, layers take none.
    whole, rest = divmod((steps + 1) * time, max(1, most))
    return steps * time if rest == 0 else whole * most
