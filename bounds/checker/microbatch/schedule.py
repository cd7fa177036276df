"""Checks solutions of `microbatch`, and computes their period or makespan."""

from typing import Any

from ..budget import hold, spend
from ..values import Rejected, fields, integer, integers
from .instance import MOST_MICRO_BATCHES, Instance

LATEST = 2**60
LONGEST_PERIOD = 2**44

# What a block of a micro-batch takes, and what each of its devices does.
START_BYTES = 100


def objective(instance: Instance, solution: dict[str, Any]) -> int:
    """Return the period or the makespan of a schedule; raise `Rejected` if it is infeasible."""
    starts = _starts(instance, solution["starts"])
    period, members = _repetend(instance, solution["repetend"], len(starts))
    if instance.micro_batches:
        _take(instance, instance.micro_batches, instance.micro_batches)
        return _checked(instance, expanded(starts, period, members, instance.micro_batches))
    if not period:
        raise Rejected("the solution has no repetend")
    _take(instance, len(starts), len(starts))
    length = _checked(instance, starts)
    # With as many repetitions more, the warm-up is over a whole period before the cool-down begins,
    # and all pairs of blocks that depend on each other or meet on a device have been seen. One more
    # repetition then adds a period in which each device ends with the memory it began with.
    more = max(len(starts), -(-length // period) + 2)
    _take(instance, len(starts) + 1, len(starts) + more)
    for count in range(len(starts) + 1, len(starts) + more + 1):
        _checked(instance, expanded(starts, period, members, count))
    return period


def expanded(
    starts: list[list[int]], period: int, members: list[int], count: int
) -> list[list[int]]:
    """Return the starts for a number of micro-batches; a period of 0 stands for no repetend."""
    more = count - len(starts)
    if more < 0 or (more and not period):
        raise Rejected(f"the solution is not for {count} micro-batches")
    result = []
    for number in range(count):
        repeated = [min(max(number - member, 0), more) for member in members]
        result.append([starts[number - r][block] + r * period for block, r in enumerate(repeated)])
    return result


def _take(instance: Instance, first: int, last: int) -> None:
    """Spend the budget for checking the starts of each number of micro-batches in a range."""
    hold(START_BYTES * last * max(len(instance.duration), instance.occupied))
    each = 1 + len(instance.duration) + len(instance.edges) + 3 * instance.occupied
    numbers = last - first + 1
    spend(numbers * len(instance.capacity) + each * numbers * (first + last) // 2)


def _checked(instance: Instance, starts: list[list[int]]) -> int:
    """Return when the last block ends; raise `Rejected` if a constraint is broken."""
    duration = instance.duration
    for row in starts:
        for first, second in instance.edges:
            if row[second] < row[first] + duration[first]:
                raise Rejected("a block starts before what it waits for is done")
    runs: list[list[tuple[int, int]]] = [[] for _ in instance.capacity]
    for row in starts:
        for block, start in enumerate(row):
            for device in instance.device_sets[block]:
                runs[device].append((start, block))
    end = 0
    for run, capacity in zip(runs, instance.capacity, strict=True):
        free = held = 0
        for start, block in sorted(run):
            if start < free:
                raise Rejected("a device runs two blocks at once, or one before 0")
            free = start + duration[block]
            held += instance.memory[block]
            if held > capacity:
                raise Rejected("a device holds more than its capacity")
        end = max(end, free)
    return end


def _starts(instance: Instance, value: Any) -> list[list[int]]:
    if type(value) is not list or not 1 <= len(value) <= MOST_MICRO_BATCHES:
        raise Rejected(f"starts of the solution is not a list of 1 to {MOST_MICRO_BATCHES} rows")
    starts = [integers(row, "starts of the solution", 0, LATEST) for row in value]
    if any(len(row) != len(instance.duration) for row in starts):
        raise Rejected("starts of the solution do not have one entry for each block")
    return starts


def _repetend(instance: Instance, value: Any, count: int) -> tuple[int, list[int]]:
    if value is None:
        return 0, [0] * len(instance.duration)
    value = fields(value, "repetend of the solution", {"period", "members"})
    members = integers(value["members"], "members of the repetend", 0, count - 1)
    if len(members) != len(instance.duration):
        raise Rejected("members of the repetend are not one for each block")
    return integer(value["period"], "period of the repetend", 1, LONGEST_PERIOD), members
