"""`interleave`: virtual stages of even sizes, improved by moving layers between them.

With v virtual stages on each of p devices, the ends of v p stages are all that there is to choose,
beside the order of the devices. A move takes a layer from a stage of the slowest device, shifts the
ends up to some other stage by one layer, and so gives that one a layer more; it is taken if the
largest load among all devices gets smaller, or as many devices no longer have it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.layers import LayerAssignment, LayersInstance, Stage
from boundmark.problems.method import Budget, Progress


def run(
    instance: LayersInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the best assignment found from each start.

    Raises
    ------
    UnsupportedError
        If there are no virtual stages, or too few layers for them.
    """
    v, devices = instance.virtual_stages, len(instance.chain.devices)
    if v == 1:
        raise UnsupportedError("there are no virtual stages; the method expects some.")
    ranks = min(devices, instance.chain.layers // v)
    if instance.in_flight == "interleaved":
        while ranks > 1 and instance.micro_batches % ranks:
            ranks -= 1
    if ranks < 2:
        raise UnsupportedError(
            f"{instance.chain.layers} layers and {instance.micro_batches} micro-batches do not go "
            f"round two of {devices} devices {v} times; the method expects more."
        )
    best: int | None = None
    reasons: list[str] = []
    for order in _orders(instance, ranks):
        for ends in _starts(instance, order):
            if budget.is_spent():
                return
            found = _improved(instance, order, ends, budget)
            try:
                cost = instance.objective(found)
            except InvalidInputError as error:
                reasons.append(str(error))
                continue
            if best is None or cost < best:
                best = cost
                progress.solution(found)
    if best is None:
        why = reasons[0] if reasons else "too many layers are joined"
        raise UnsupportedError(f"no assignment that was tried is one: {why}")


def _orders(instance: LayersInstance, ranks: int) -> Iterator[list[int]]:
    """Yield devices in some orders: as they are; if it is free, by speed, from either end."""
    every = range(len(instance.chain.devices))
    if ranks < len(every):
        every = range(ranks) if instance.device_order == "given" else every
    speed = instance.chain.time.sum(axis=1)
    known = [speed[instance.chain.devices[device]] for device in every]
    fast = [every[at] for at in np.argsort(known, kind="stable")[:ranks]]
    yield sorted(fast)
    if instance.device_order == "free" and len(set(known)) > 1:
        yield fast
        yield fast[::-1]


def _starts(instance: LayersInstance, order: list[int]) -> Iterator[list[int]]:
    """Yield ends of stages: of even sizes, of even work, and of sizes by the devices' speeds."""
    chain, count = instance.chain, instance.virtual_stages * len(order)
    if chain.layers - len(chain.joined) < count:
        return
    kinds = [chain.devices[device] for device in order] * instance.virtual_stages
    speeds = np.array([1 / max(1, int(chain.time[kind].sum())) for kind in kinds])
    work = np.cumsum(chain.time[kinds[0]] + 1)
    even = np.arange(1, count + 1) / count
    shares = np.cumsum(speeds) / speeds.sum()
    yield _ends(instance, [round(share * chain.layers) for share in even])
    for wanted in (even, shares):
        yield _ends(
            instance, [int(np.searchsorted(work, share * work[-1])) + 1 for share in wanted]
        )


def _ends(instance: LayersInstance, wanted: list[int]) -> list[int]:
    """Return ends near those wanted, each beyond the last one, between layers that may part."""
    n, count = instance.chain.layers, len(wanted)
    apart = [at for at in range(1, n) if at not in set(instance.chain.joined)] + [n]
    found: list[int] = []
    for at, end in enumerate(wanted[:-1]):
        left = count - at
        allowed = [x for x in apart if not found or x > found[-1]]
        allowed = allowed[: max(1, len(allowed) - left + 1)]
        found.append(min(allowed, key=lambda x: abs(x - end)))
    return [*found, n]


def _improved(
    instance: LayersInstance, order: list[int], ends: list[int], budget: Budget
) -> LayerAssignment:
    """Return the assignment that moves lead to."""
    found = _assignment(order, ends)
    try:
        loads = _loads(instance, order, ends)
    except InvalidInputError:
        return found
    while not budget.is_spent():
        better = None
        for moved in _moves(instance, order, ends, int(np.argmax(loads))):
            changed = _loads(instance, order, moved)
            if sorted(changed, reverse=True) < sorted(loads, reverse=True) and _fits(
                instance, order, moved
            ):
                better = (moved, changed)
                break
        if better is None:
            break
        ends, loads = better
    return _assignment(order, ends)


def _moves(
    instance: LayersInstance, order: list[int], ends: list[int], slowest: int
) -> Iterator[list[int]]:
    """Yield ends after each move of a layer away from a device."""
    joined, ranks = set(instance.chain.joined), len(order)
    for stage in range(slowest, len(ends), ranks):
        for other in range(len(ends)):
            # Ends between the two stages go one layer towards the one that gives.
            low, high = min(stage, other), max(stage, other)
            by = -1 if stage < other else 1
            moved = [end + by if low <= at < high else end for at, end in enumerate(ends)]
            starts = [0, *moved[:-1]]
            if (
                other % ranks != slowest
                and all(a < b for a, b in zip(starts, moved, strict=True))
                and not joined & set(moved)
            ):
                yield moved


def _loads(instance: LayersInstance, order: list[int], ends: list[int]) -> list[int]:
    """Return the load of each device."""
    return [load.total for load in instance.stage_loads(_assignment(order, ends))]


def _fits(instance: LayersInstance, order: list[int], ends: list[int]) -> bool:
    loads = instance.stage_loads(_assignment(order, ends))
    return all(load.memory <= load.capacity for load in loads)


def _assignment(order: list[int], ends: list[int]) -> LayerAssignment:
    starts = [0, *ends[:-1]]
    return LayerAssignment.of_stages(
        Stage(order[at % len(order)], first, end)
        for at, (first, end) in enumerate(zip(starts, ends, strict=True))
    )
