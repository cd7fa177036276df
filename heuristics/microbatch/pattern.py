"""Orders of blocks on devices, patterns of them that repeat, and the schedules that follow.

With an order on each device, every block has an earliest start.

The schedule that repeats a pattern in the shortest period is found exactly. Each condition on start
times says that one start is at least another plus a constant, which a longer period may make
smaller. So the conditions can be kept if and only if no cycle of them adds up to more than 0; if
they can with some period, they can with every longer one; and the longest paths are the earliest
start times.
"""

import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import Job, earliest_starts, makespan

# For each device, (block, micro-batch) pairs in the order in which it runs them; a block on several
# devices is in the order of each of them.
DeviceOrders: TypeAlias = Sequence[Sequence[tuple[int, int]]]


def find_earliest_starts(layout: BlockLayout, orders: DeviceOrders, micro_batches: int) -> IntArray:
    """Return the earliest start times, shape (N, K), if each device keeps to its order."""
    starts = np.zeros((micro_batches, layout.dag.nodes), dtype=np.int64)
    for job, start in earliest_starts(layout, _find_sequence(layout, orders)).items():
        starts[job] = start
    return frozen(starts)


def _find_sequence(layout: BlockLayout, orders: DeviceOrders) -> list[Job]:
    """Return one sequence of all jobs that agrees with all orders and dependencies."""
    producers = [layout.dag.producers_of(i).tolist() for i in range(layout.dag.nodes)]
    consumers = [layout.dag.consumers_of(i).tolist() for i in range(layout.dag.nodes)]
    sequence: dict[Job, None] = {}
    position = [0] * layout.devices

    def next_on(device: int) -> tuple[int, int] | None:
        order, at = orders[device], position[device]
        return order[at] if at < len(order) else None

    waiting = list(range(layout.devices))
    while waiting:
        device = waiting.pop()
        while (turn := next_on(device)) is not None:
            block, number = turn
            together = layout.blocks[block].devices
            has_inputs = all((number, producer) in sequence for producer in producers[block])
            if not has_inputs or any(next_on(other) != turn for other in together):
                break
            sequence[number, block] = None
            for other in together:
                position[other] += 1
            waiting += together
            for consumer in consumers[block]:
                waiting += layout.blocks[consumer].devices
    for device in range(layout.devices):
        if (turn := next_on(device)) is not None:
            raise UnsupportedError(
                f"with this order, device {device} waits for ever to run block "
                f"{layout.blocks[turn[0]].name!r} of micro-batch {turn[1]}."
            )
    return list(sequence)


def peak_memory(layout: BlockLayout, order: Sequence[tuple[int, int]]) -> int:
    """Return the most memory that a device holds if it runs blocks in this order."""
    changes = [layout.blocks[block].memory for block, _ in order]
    return max(0, int(np.cumsum(changes).max())) if changes else 0


def fits(instance: MicrobatchInstance, orders: DeviceOrders) -> bool:
    """Whether no device holds more than its capacity."""
    return all(
        peak_memory(instance.layout, order) <= capacity
        for order, capacity in zip(orders, instance.capacity, strict=True)
    )


@dataclass(frozen=True)
class Pattern:
    """The order of blocks that each device repeats.

    Attributes
    ----------
    turns
        For each device, pairs (block, lag): in repetition q, it runs the block of micro-batch
        q + lag. A block on several devices has the same lag on all of them, and no block has a
        larger lag than those that it waits for.
    """

    turns: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def aligned(cls, layout: BlockLayout, turns: Sequence[Sequence[tuple[int, int]]]) -> "Pattern":
        """Return the pattern of some orders, lags shifted so that none exceeds its inputs'."""
        lag = {block: value for order in turns for block, value in order}
        device = {block: number for number, order in enumerate(turns) for block, _ in order}
        shift = [0] * len(turns)
        for _ in range(len(turns) + 1):
            before = list(shift)
            for source, target in layout.dag.edge_pairs().tolist():
                least = lag[target] + shift[device[target]] - lag[source]
                shift[device[source]] = max(shift[device[source]], least)
            if shift == before:
                break
        else:
            raise UnsupportedError("devices would wait for each other for ever with this order.")
        least = min(lag[block] + shift[device[block]] for block in lag)
        return cls(
            tuple(
                tuple((block, value + shift[number] - least) for block, value in order)
                for number, order in enumerate(turns)
            )
        )

    @classmethod
    def of_starts(cls, layout: BlockLayout, starts: Sequence[int], period: int) -> "Pattern":
        """Return the pattern of a schedule that starts block i of micro-batch m at s[i] + m P."""
        latest = max(start // period for start in starts)
        return cls(
            tuple(
                tuple(
                    (block, latest - starts[block] // period)
                    for block in sorted(members, key=lambda block: (starts[block] % period, block))
                )
                for members in layout.on_device
            )
        )

    @property
    def micro_batches(self) -> int:
        """The smallest number of micro-batches with a complete repetition."""
        return 1 + max(lag for order in self.turns for _, lag in order)

    def orders(self, micro_batches: int) -> DeviceOrders:
        """Return the device orders for a number of micro-batches."""
        return [
            [
                (block, repetition + lag)
                for repetition in range(1 - self.micro_batches, micro_batches)
                for block, lag in order
                if 0 <= repetition + lag < micro_batches
            ]
            for order in self.turns
        ]

    @cached_property
    def lags(self) -> IntArray:
        """The lag of each block, shape (K,)."""
        lag = {block: value for order in self.turns for block, value in order}
        return np.array([lag[block] for block in range(len(lag))], dtype=np.int64)


def mean_period(starts: IntArray) -> int:
    """Return the mean ticks from one micro-batch to the next in the middle half, rounded up."""
    first, last = len(starts) // 4, -(-3 * len(starts) // 4)
    return math.ceil(int((starts[last] - starts[first]).max()) / (last - first))


class _Conditions(NamedTuple):
    """Conditions ``start[later] >= start[earlier] + ticks - periods * P``, one per array entry."""

    earlier: IntArray
    later: IntArray
    ticks: IntArray
    periods: IntArray


def repeating_schedule(layout: BlockLayout, pattern: Pattern) -> Schedule:
    """Return the earliest schedule that repeats the pattern, with the shortest period.

    It has as many micro-batches as a repetition needs; what comes before and after the first
    repetition is the same pattern, as far as there are micro-batches.
    """
    period = shortest_period(layout, pattern)
    count, blocks = pattern.micro_batches, len(layout.blocks)
    starts = _earliest(_in_schedule(layout, pattern), period, count * blocks)
    assert starts is not None, "what comes before and after a repetition needs no longer period"
    return Schedule(frozen(starts.reshape(count, blocks)), Repetend(period, pattern.lags))


def shortest_period(layout: BlockLayout, pattern: Pattern) -> int:
    """Return the shortest integer period in which the pattern can be repeated."""
    conditions = _in_repetition(layout, pattern)
    size = len(layout.blocks)
    periods = range(max(layout.loads), int(layout.durations.sum()))
    if _earliest(conditions, periods.stop, size) is None:
        raise UnsupportedError("devices would wait for each other for ever with this order.")
    return periods.start + bisect_left(
        periods, True, key=lambda period: _earliest(conditions, period, size) is not None
    )


def _in_repetition(layout: BlockLayout, pattern: Pattern) -> _Conditions:
    """Return the conditions between the blocks of one repetition."""
    duration = layout.durations.tolist()
    rows = [
        (first, second, duration[first], 0)
        for order in pattern.turns
        for (first, _), (second, _) in itertools.pairwise(order)
    ]
    rows += [
        (order[-1][0], order[0][0], duration[order[-1][0]], 1) for order in pattern.turns if order
    ]
    lags = pattern.lags
    for source, target in layout.dag.edge_pairs().tolist():
        rows.append((source, target, duration[source], lags[source] - lags[target]))
    return _conditions(np.array(rows, dtype=np.int64))


def _in_schedule(layout: BlockLayout, pattern: Pattern) -> _Conditions:
    """Return the conditions of a schedule with the fewest micro-batches, and of repeating it."""
    duration = layout.durations
    count, blocks, lags = pattern.micro_batches, len(layout.blocks), pattern.lags
    parts = []
    for repeated, order in zip(pattern.turns, pattern.orders(count), strict=True):
        if order:
            turns = np.array(order, dtype=np.int64)
            cells = turns[:, 1] * blocks + turns[:, 0]
            parts.append((cells[:-1], cells[1:], duration[turns[:-1, 0]], np.zeros(len(cells) - 1)))
            (first, lag), (last, last_lag) = repeated[0], repeated[-1]
            cells = np.array([[last_lag * blocks + last], [lag * blocks + first]])
            parts.append((cells[0], cells[1], duration[[last]], np.ones(1)))
    sources, targets = layout.dag.sources, layout.dag.targets
    apart = lags[sources] - lags[targets]
    # With more repetitions than lie between two blocks, nothing new is asked of them.
    for more in range(int(apart.max(initial=0)) + 1):
        tails, heads = sources[apart >= more], targets[apart >= more]
        number = np.arange(count + more)[:, None]
        repetitions = np.clip(number - lags, 0, more)
        cells = (number - repetitions) * blocks + np.arange(blocks)
        parts.append(
            (
                cells[:, tails].ravel(),
                cells[:, heads].ravel(),
                np.broadcast_to(duration[tails], (count + more, len(tails))).ravel(),
                (repetitions[:, heads] - repetitions[:, tails]).ravel(),
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return _conditions(np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0))


def _conditions(rows: IntArray) -> _Conditions:
    return _Conditions(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])


def _earliest(conditions: _Conditions, period: int, size: int) -> IntArray | None:
    """Return the least start times from 0 on that keep the conditions, None if there are none."""
    starts = np.zeros(size, dtype=np.int64)
    weights = conditions.ticks - conditions.periods * period
    for _ in range(size + 1):
        before = starts.copy()
        np.maximum.at(starts, conditions.later, starts[conditions.earlier] + weights)
        if np.array_equal(starts, before):
            return starts
    return None


def report_pattern(instance: MicrobatchInstance, pattern: Pattern, progress: Progress) -> None:
    """Report the schedule of a pattern, a repeating one unless the instance has micro-batches."""
    if instance.micro_batches:
        report_orders(instance, pattern.orders(instance.micro_batches), progress)
        return
    check_memory(instance, pattern.orders(pattern.micro_batches))
    progress.solution(repeating_schedule(instance.layout, pattern))


def report_orders(instance: MicrobatchInstance, orders: DeviceOrders, progress: Progress) -> None:
    """Report the earliest schedule of the instance's micro-batches with these orders."""
    check_memory(instance, orders)
    starts = find_earliest_starts(instance.layout, orders, instance.micro_batches)
    progress.solution(Schedule(starts))


def report_best(
    instance: MicrobatchInstance, candidates: Sequence[DeviceOrders], progress: Progress
) -> None:
    """Report the shortest schedule of those orders that fit into memory."""
    fitting = [orders for orders in candidates if fits(instance, orders)]
    if not fitting:
        check_memory(instance, candidates[0])
    layout, count = instance.layout, instance.micro_batches
    schedules = [find_earliest_starts(layout, orders, count) for orders in fitting]
    progress.solution(Schedule(min(schedules, key=lambda starts: makespan(layout, starts))))


def check_memory(instance: MicrobatchInstance, orders: DeviceOrders) -> None:
    """Refuse orders with which a device holds more than its capacity."""
    for device, order in enumerate(orders):
        peak = peak_memory(instance.layout, order)
        if peak > instance.capacity[device]:
            raise UnsupportedError(
                f"this order of blocks holds {peak} on device {device}; "
                f"expected at most {instance.capacity[device]}."
            )
