"""Reports of schedules by methods that know the order of blocks on each device."""

from collections.abc import Sequence

from boundmark.heuristics.microbatch.device_orders import (
    DeviceOrders,
    find_earliest_starts,
    fits,
    peak_memory,
)
from boundmark.heuristics.microbatch.pattern import Pattern, repeating_schedule
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Progress
from boundmark.problems.microbatch import MicrobatchInstance, Schedule
from boundmark.problems.microbatch.measures import makespan


def report_pattern(instance: MicrobatchInstance, pattern: Pattern, progress: Progress) -> None:
    """Report the schedule of a pattern, a repeating one unless the instance has micro-batches.

    Raises
    ------
    UnsupportedError
        If a device would hold more than its capacity.
    """
    if instance.micro_batches:
        report_orders(instance, pattern.orders(instance.micro_batches), progress)
        return
    check_memory(instance, pattern.orders(pattern.micro_batches))
    progress.solution(repeating_schedule(instance.layout, pattern))


def report_orders(instance: MicrobatchInstance, orders: DeviceOrders, progress: Progress) -> None:
    """Report the earliest schedule of the instance's micro-batches with these orders.

    Raises
    ------
    UnsupportedError
        If a device would hold more than its capacity, or wait for ever.
    """
    check_memory(instance, orders)
    starts = find_earliest_starts(instance.layout, orders, instance.micro_batches)
    progress.solution(Schedule(starts))


def report_best(
    instance: MicrobatchInstance, candidates: Sequence[DeviceOrders], progress: Progress
) -> None:
    """Report the shortest schedule of those orders that fit into memory.

    Raises
    ------
    UnsupportedError
        If none fits, or devices would wait for ever.
    """
    fitting = [orders for orders in candidates if fits(instance, orders)]
    if not fitting:
        check_memory(instance, candidates[0])
    layout, count = instance.layout, instance.micro_batches
    schedules = [find_earliest_starts(layout, orders, count) for orders in fitting]
    progress.solution(Schedule(min(schedules, key=lambda starts: makespan(layout, starts))))


def check_memory(instance: MicrobatchInstance, orders: DeviceOrders) -> None:
    """Refuse orders with which a device holds more than its capacity.

    Raises
    ------
    UnsupportedError
        If a device would.
    """
    for device, order in enumerate(orders):
        peak = peak_memory(instance.layout, order)
        if peak > instance.capacity[device]:
            raise UnsupportedError(
                f"this order of blocks holds {peak} on device {device}; "
                f"expected at most {instance.capacity[device]}."
            )
