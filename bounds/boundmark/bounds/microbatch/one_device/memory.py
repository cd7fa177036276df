"""What a device allocates occupies it until the release has ended.

By Little's law, a device that holds c at most, and for which each micro-batch needs the sum of
amount times latency h, has a period of h / c or more. The latency is a longest path. Which release
belongs to which allocation is a transportation problem, the dual of the linear program that places
the blocks of a micro-batch such that it holds as little as it can, dependencies being all that
counts.
"""

from boundmark.bounds.checker.microbatch.instance import Instance
from boundmark.bounds.checker.microbatch.one_device import memory_latency
from boundmark.bounds.checker.microbatch.paths import from_block
from boundmark.bounds.checker.verdicts import check_instance
from boundmark.problems.certificate import Certificate
from boundmark.problems.microbatch import MicrobatchInstance

KIND = "memory-latency/1"

# The solver adds up amounts times latencies in 64 bits.
LARGEST_COST = 2**60


def certificate(instance: MicrobatchInstance, producer: str) -> Certificate | None:
    """Return the best bound of this kind, None if there is none."""
    checked: Instance = check_instance(instance.to_json())
    payloads = []
    for device in range(instance.layout.devices):
        pairs = longest_pairs(checked, device)
        if pairs:
            payloads.append({"device": device, "pairs": pairs})
    if not payloads:
        return None
    bound, number = max((memory_latency(checked, p), -n) for n, p in enumerate(payloads))
    return Certificate.of(instance, KIND, bound, payloads[-number], producer)


def releases_what_it_holds(instance: MicrobatchInstance) -> bool:
    """Whether whatever a device releases waits for an allocation of as much on that device.

    If so, it holds nothing less for letting a block wait, and cutting off a steady state at both
    ends leaves a schedule.
    """
    checked: Instance = check_instance(instance.to_json())
    return all(
        longest_pairs(checked, device) is not None for device in range(instance.layout.devices)
    )


def least_capacity(instance: MicrobatchInstance, period: int) -> int:
    """Return what the fullest device has to hold at some time in a schedule of a period."""
    checked: Instance = check_instance(instance.to_json())
    held = [
        sum(
            amount * ((from_block(checked, first)[last] or 0) + checked.duration[last])
            for first, last, amount in longest_pairs(checked, device) or ()
        )
        for device in range(instance.layout.devices)
    ]
    return -(-max(held) // period)


def longest_pairs(instance: Instance, device: int) -> list[list[int]] | None:
    """Return (allocation, release, amount) for all that a device holds, for longest in total.

    None if some release cannot be paired with an allocation that it waits for, or if the costs are
    too large for the solver.
    """
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    changes = {
        block: change
        for block, change in enumerate(instance.memory)
        if change and device in instance.device_sets[block]
    }
    flow = SimpleMinCostFlow()
    arcs = []
    total = sum(change for change in changes.values() if change > 0)
    if total * sum(instance.duration) >= LARGEST_COST:
        return None
    for first, change in changes.items():
        flow.set_node_supply(first, change)
        if change < 0:
            continue
        after = from_block(instance, first)
        for last, released in changes.items():
            latency = after[last]
            if released < 0 and latency is not None:
                flow.add_arc_with_capacity_and_unit_cost(first, last, total, -latency)
                arcs.append((first, last))
    if not arcs:
        return None if changes else []
    if flow.solve() != flow.OPTIMAL:
        return None
    return [
        [first, last, flow.flow(arc)] for arc, (first, last) in enumerate(arcs) if flow.flow(arc)
    ]
