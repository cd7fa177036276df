"""`layer-load`: what the layers need of all devices' time, for any stages and virtual stages.

Prices of the types make the bound: in the relaxation, every layer goes where it costs least, and
devices that are too cheap get too many. They are found by subgradients, and the steps of the dual
feasible function by trying some; a bound is then as large as the checker accepts it.
"""

from typing import Any

from boundmark.bounds import checker
from boundmark.bounds.checker.layers.instance import Instance
from boundmark.bounds.checker.layers.load import is_refuted
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.layers import LayersInstance
from boundmark.problems.method import Budget, Progress

KIND = "layer-load/1"

# What prices are multiples of: one device's share.
UNIT = 2**20

# Steps of the function that rounds shares down: many for layers that are small beside a device.
STEPS = (0, *range(1, 65), 96, 128, 192, 256)

# Prices that are tried beside those in proportion to speed.
ROUNDS = 12


def run(
    instance: LayersInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound.

    Raises `UnsupportedError` if the goal is another one than the bottleneck.
    """
    refuse_question(instance)
    if instance.goal != "bottleneck":
        raise UnsupportedError(
            f"the goal is {instance.goal!r}; the method expects bottleneck, the largest load."
        )
    read = checker.check_instance(instance.to_json())
    best, steps, prices = 0, 0, speed_prices(read)
    for tried in _prices(read):
        for number in STEPS:
            if budget.is_spent():
                break
            found = _largest(read, number, tried, best)
            if found > best:
                best, steps, prices = found, number, tried
    payload = {"bound": best, "steps": steps, "prices": prices}
    progress.bound(Certificate.of(instance, KIND, best, payload, "layer-load"))


def refuse_question(instance: LayersInstance) -> None:
    """Refuse an instance whose layers may keep a part of themselves on the host."""
    if instance.chain.split is not None:
        raise UnsupportedError(
            "layers may keep a part of themselves on the host, and the method expects whole "
            "layers; layer-choices is for any number of those that do."
        )


def _largest(read: Instance, steps: int, prices: list[int], best: int) -> int:
    """Return a large bound that is proven, or what is known if this does not prove more."""
    if not is_refuted(read, best, steps, prices):
        return best
    low, high = best + 1, sum(max(times) for times in zip(*read.time, strict=True))
    # Refutations need not be monotonic; each that is found is one.
    while low < high:
        middle = (low + high) // 2
        if is_refuted(read, middle, steps, prices):
            low = middle + 1
        else:
            high = middle
    return low


def speed_prices(read: Instance) -> list[int]:
    """Return prices in proportion to how fast devices are."""
    sums = [max(1, sum(row)) for row in read.time]
    return [max(1, UNIT * min(sums) // one) for one in sums]


def _prices(read: Instance) -> list[list[int]]:
    """Return prices of types; devices of those to which too much goes become dearer."""
    prices = speed_prices(read)
    found = [prices]
    if len(prices) == 1:
        return found
    counts = [len(devices) for devices in read.members]
    scale = 0.25
    for _ in range(ROUNDS):
        work = [0] * len(prices)
        for times in zip(*read.time, strict=True):
            where = min(range(len(prices)), key=lambda kind: prices[kind] * times[kind])
            work[where] += times[where]
        loads = [one / count for one, count in zip(work, counts, strict=True)]
        mean = sum(loads) / len(loads)
        if mean == 0:
            break
        prices = [
            max(1, round(price * (1 + scale * max(-1.0, min(1.0, load / mean - 1)))))
            for price, load in zip(prices, loads, strict=True)
        ]
        found.append(prices)
        scale *= 0.8
    return found
