"""`memory-latency`: a bound from how long a device holds memory (Little's law).

By Little's law, a device that holds c at most, and for which each micro-batch needs the sum of
amount times latency h, has a period of h / c or more. The latency is a longest path. Which release
belongs to which allocation is a transportation problem, the dual of the linear program that places
the blocks of a micro-batch such that it holds as little as it can, dependencies being all that
counts.
"""

import math
from dataclasses import dataclass
from typing import Any

from boundmark.bounds.microbatch.device_load import LongestPaths
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Budget, Progress, require_module
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance

KIND = "memory-latency/1"

# The solver adds up amounts times latencies in 64 bits. Above this sum it gets latencies in coarser
# units; any pairing is valid, and its bound is computed exactly.
LARGEST_COST = 2**60


@dataclass(frozen=True)
class Holding:
    """A pairing of allocations and releases on a device, for one micro-batch.

    Attributes
    ----------
    pairs
        (allocation, release, amount): all amounts that the blocks on the device allocate and
        release. Each release waits for its allocation.
    held
        Sum over the pairs of the amount times the longest path from the start of the allocation to
        the end of the release, in memory units times ticks.
    """

    device: int
    pairs: list[list[int]]
    held: int


def certificate(instance: MicrobatchInstance, producer: str) -> Certificate | None:
    """Return the certificate of the device with the largest bound, None if there is none."""
    paths = LongestPaths(instance.layout)
    found = [longest_holding(paths, device) for device in range(instance.layout.devices)]
    holdings = [holding for holding in found if holding is not None and holding.pairs]
    if not holdings:
        return None
    bounds = [_bound(instance, paths, holding) for holding in holdings]
    best = max(range(len(bounds)), key=bounds.__getitem__)
    payload = {"device": holdings[best].device, "pairs": holdings[best].pairs}
    return Certificate.of(instance, KIND, bounds[best], payload, producer)


def releases_what_it_holds(instance: MicrobatchInstance) -> bool:
    """Whether every release on a device can be paired with an allocation that it depends on.

    If so, it holds nothing less for letting a block wait, and cutting off a steady state at both
    ends leaves a schedule.
    """
    paths = LongestPaths(instance.layout)
    devices = range(instance.layout.devices)
    return all(longest_holding(paths, device) is not None for device in devices)


def least_capacity(instance: MicrobatchInstance, period: int) -> int:
    """Return a lower bound on the peak memory of the fullest device, for a given period."""
    paths = LongestPaths(instance.layout)
    found = [longest_holding(paths, device) for device in range(instance.layout.devices)]
    return -(-max(0 if holding is None else holding.held for holding in found) // period)


def longest_holding(paths: LongestPaths, device: int) -> Holding | None:
    """Pair releases with allocations for the largest sum of memory times latency on a device."""
    require_module("ortools")
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    changes = _changes(paths.layout, device)
    flow = SimpleMinCostFlow()
    arcs = []
    total = sum(change for change in changes.values() if change > 0)
    ticks_per_unit = 1 + total * int(paths.duration.sum()) // LARGEST_COST
    for first, change in changes.items():
        flow.set_node_supply(first, change)
        if change < 0:
            continue
        between = paths.between_starts(first)
        for last, released in changes.items():
            latency = between[last]
            if released < 0 and latency is not None:
                cost = -(latency // ticks_per_unit)
                flow.add_arc_with_capacity_and_unit_cost(first, last, total, cost)
                arcs.append((first, last, latency + int(paths.duration[last])))
    if not arcs:
        return None if changes else Holding(device, [], 0)
    status = flow.solve()
    if status == flow.INFEASIBLE:
        return None
    if status != flow.OPTIMAL:
        raise RuntimeError(f"allocations were not paired with releases: {status}")
    amounts = [flow.flow(arc) for arc in range(len(arcs))]
    return Holding(
        device,
        [
            [first, last, amount]
            for (first, last, _), amount in zip(arcs, amounts, strict=True)
            if amount
        ],
        sum(amount * ticks for (_, _, ticks), amount in zip(arcs, amounts, strict=True)),
    )


def _changes(layout: BlockLayout, device: int) -> dict[int, int]:
    """Return the memory change of each block on a device that has one."""
    here = {block: layout.blocks[block].memory for block in layout.on_device[device]}
    return {block: change for block, change in here.items() if change}


def _bound(instance: MicrobatchInstance, paths: LongestPaths, holding: Holding) -> int:
    """Return the bound on the period, or the makespan, that a pairing proves."""
    changes = _changes(instance.layout, holding.device)
    # A device that holds multiples of a unit leaves the rest of its capacity empty.
    unit = math.gcd(*changes.values())
    capacity = instance.capacity[holding.device] // unit * unit
    if not instance.micro_batches:
        return -(-holding.held // capacity)
    blocks = list(changes)
    before, after = int(paths.heads[blocks].min()), int(paths.tails[blocks].min())
    return before - (-instance.micro_batches * holding.held // capacity) + after


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound.

    Raises
    ------
    UnsupportedError
        If nothing is allocated that is released by a block that waits for it.
    """
    found = certificate(instance, "memory-latency")
    if found is None:
        raise UnsupportedError("no device holds what a later block of the micro-batch releases")
    progress.bound(found)
