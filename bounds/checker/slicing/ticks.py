"""Computes the least ticks of an operator by classes of its width and of its inputs' widths."""

import itertools
from math import lcm
from typing import NamedTuple

from ..budget import hold, spend
from .compute import best_split
from .instance import Edge, Instance
from .memory import Room, split_within, waiting_bytes
from .needs import INDEX_BYTES, Needs

# Widths from the first to the second number.
Class = tuple[int, int]

# Operators that read more tensors than this are bounded tensor by tensor.
MOST_COMBINED = 2

# Steps of the ticks of one class, and of one number of devices, without any edges; and of what is
# received at least, for each class of an edge's producer.
OWN_STEPS = 16
RECEIVED_STEPS = 4


class Sum(NamedTuple):
    """Ticks as a function of bytes: ``base + ceil((fixed + factor * bytes) / divisor)``.

    Attributes
    ----------
    bytes
        For each input, by its class.
    """

    base: int
    fixed: int
    factor: int
    divisor: int
    bytes: list[list[int]]

    def table(self) -> list[int]:
        """Return the ticks for all combinations of classes, the last input varying fastest."""
        totals = [0]
        for row in self.bytes:
            totals = [total + amount for total in totals for amount in row]
        base, fixed, factor, divisor = self.base, self.fixed, self.factor, self.divisor
        return [base - (-(fixed + factor * total) // divisor) for total in totals]

    def apart(self) -> tuple[int, list[list[int]]]:
        """Return ticks, and further ticks by input and class; together at most as in `table`."""
        more = [[self.factor * amount // self.divisor for amount in row] for row in self.bytes]
        return self.base + self.fixed // self.divisor, more


class LeastTicks(NamedTuple):
    """Ticks of an operator whose width is in one class.

    They are at least `widest`, at least the smallest of `together`, if there are any, and at least
    `floor`, for all classes of the inputs.

    Attributes
    ----------
    widest
        Time of the device with the largest part.
    together
        Of all devices on average, for each number of devices that may compute parts; of the one
        that receives most; and of all but the one that holds most of the only input.
    """

    floor: int
    widest: Sum
    together: list[list[Sum]]

    def table(self) -> list[int]:
        """Return the ticks for all combinations of classes of the inputs."""
        ticks = [max(self.floor, one) for one in self.widest.table()]
        for first, *others in self.together:
            least = first.table()
            for choice in others:
                least = list(map(min, least, choice.table()))
            ticks = list(map(max, ticks, least))
        return ticks


class Operator:
    """Computes the least ticks of one operator in each of its classes.

    Let the parts of a plan have widths w_j on the devices j that compute any, A of them, and let
    the operator take t ticks on the slowest of them.

    - The device with the largest part of width w takes no less than its work, on the fastest
      device, and what it receives: it needs at least what the narrowest part of that width needs
      anywhere, and holds at most the largest part of the input. If an edge is broadcast, it
      receives all.
    - Each device takes at most t. So its width is at most (t - launch - communication) length /
      work. These add up to the length, and what is communicated is at least what is needed in all
      minus what is held where it is needed (`_received`). Of the devices, the fastest A count, and
      each byte is charged to the slowest.
    - One of the A devices receives at least a part of 1 / A of all that is received, in whole units
      if there is one input, and computes at least what is left if all others have the largest part.
    - The same as on average, without the device that holds most of the only input: it computes no
      more than the largest part, and the others hold little of what they need.
    """

    def __init__(
        self,
        instance: Instance,
        number: int,
        classes: list[list[Class]],
        waiting: int | None = None,
    ) -> None:
        spend(16 + 2 * len(instance.capacity) + 4 * len(instance.inputs[number]))
        self._instance, self._number = instance, number
        self.length = instance.length[number]
        self.edges = instance.inputs[number]
        self.producers = sorted({edge.producer for edge in self.edges})
        self.own = classes[number]
        self.classes = [classes[producer] for producer in self.producers]
        self._place = {producer: at for at, producer in enumerate(self.producers)}
        # Classes and edges that each sum of bytes goes through.
        self._steps = sum(1 + len(classes[edge.producer]) for edge in self.edges)
        self._needs = [Needs(edge, self.length) for edge in self.edges]
        work, launch = instance.work[number], instance.launch
        self._room = None
        if waiting is not None:
            room = Room(instance, number, self._needs, waiting)
            if room.numbers:
                self._room = room
                work = [one for one, width in zip(work, room.widths, strict=True) if width]
                launch = [one for one, width in zip(launch, room.widths, strict=True) if width]
        self._fits = waiting is None or self._room is not None
        if self._room is None:
            self._floor = best_split(instance, number)
        else:
            widths = [width for width in self._room.widths if width]
            self._floor = split_within(self.length, work, launch, widths)
        self._has_work = all(work)
        self._launch = min(launch) if self._has_work else 0
        # Speeds are integers in proportion to 1 / work.
        self._unit = lcm(*work) if self._has_work else 0
        speeds = sorted((self._unit // one for one in work), reverse=True) if self._has_work else []
        self._fastest = [0, *itertools.accumulate(speeds)]
        self._slowest = speeds[-1] if speeds else 0

    def is_possible(self, own: Class) -> bool:
        """Whether memory may allow a plan whose width is in a class."""
        if self._room is None:
            return self._fits
        low, high = own
        if max(self._room.widths) < low:
            return False
        return (
            bool(self._numbers(high, self._room.numbers))
            if low < self.length
            else (1 in self._room.numbers)
        )

    def _numbers(self, high: int, among: list[int]) -> list[int]:
        """Return numbers of devices, two at least, that compute parts no wider than `high`."""
        return [number for number in among if number >= max(2, -(-self.length // high))]

    def least(self, own: Class) -> LeastTicks:
        """Return the ticks if the width is in a class."""
        low, high = own
        is_single = low == self.length
        spend(OWN_STEPS + self._steps)
        shared = 0
        if not is_single:
            shared = sum(self._instance.size(edge) for edge in self.edges if edge.is_whole)
        widest = self._widest(low, shared, is_single)
        if is_single or not self.is_possible(own):
            return LeastTicks(self._floor, widest, [])
        devices = len(self._instance.capacity)
        numbers = self._numbers(high, list(range(2, min(devices, self.length) + 1)))
        if self._room is not None:
            numbers = self._numbers(high, self._room.numbers)
        spend(len(numbers) * (OWN_STEPS + RECEIVED_STEPS * self._steps))
        together = [
            [self._average(high, shared, number) for number in numbers],
            [self._largest_receiver(high, shared, number) for number in numbers],
        ]
        if len(self.edges) == 1 and not self.edges[0].is_whole:
            (edge,) = self.edges
            if not self._instance.crosses(edge) and self._has_work:
                others = [self._others(high, number) for number in numbers]
                others += [self._idle_holder(high, a) for a in numbers if a < devices]
                together.append(others)
        return LeastTicks(self._floor, widest, together)

    def _least_work(self, width: int) -> int:
        """Return the work on the fastest device that can compute so many indices."""
        work = self._instance.work[self._number]
        if self._room is None or max(self._room.widths) < width:
            return min(work)
        return min(one for one, most in zip(work, self._room.widths, strict=True) if most >= width)

    def _no_bytes(self) -> list[list[int]]:
        return [[0] * len(row) for row in self.classes]

    def _widest(self, low: int, shared: int, is_single: bool) -> Sum:
        amounts = self._no_bytes()
        for edge, needs in zip(self.edges, self._needs, strict=True):
            if edge.is_whole and not is_single:
                continue
            needed, _ = needs.of_width(low)
            length = self._instance.length[edge.producer]
            row = amounts[self._place[edge.producer]]
            for c, (_, most) in enumerate(self.classes[self._place[edge.producer]]):
                if self._instance.crosses(edge):
                    row[c] += edge.unit * needed * (length - most)
                else:
                    row[c] += edge.unit * max(0, needed - most)
        ticks, per = self._instance.point_to_point
        base = self._launch - (-self._least_work(low) * low // self.length)
        return Sum(base + self._instance.router_ticks(0, shared), 0, ticks, per, amounts)

    def _average(self, high: int, shared: int, number: int) -> Sum:
        """Return the mean ticks of so many devices that compute parts no wider than `high`."""
        amounts = self._no_bytes()
        for edge, needs in zip(self.edges, self._needs, strict=True):
            if not edge.is_whole:
                row = amounts[self._place[edge.producer]]
                for c, one in enumerate(self.classes[self._place[edge.producer]]):
                    row[c] += edge.unit * self._received(edge, needs, high, number, one)
        base = self._launch + self._instance.router_ticks(0, shared)
        ticks, per = self._instance.point_to_point
        if not self._has_work:
            return Sum(base, 0, ticks, per * number, amounts)
        return Sum(
            base, self._unit * per, ticks * self._slowest, per * self._fastest[number], amounts
        )

    def _largest_receiver(self, high: int, shared: int, number: int) -> Sum:
        """Return the ticks of the device that receives most, which computes a part as well."""
        amounts = self._no_bytes()
        # Bytes come in parts of `edge.unit`, which are not divided if there is one input.
        count = 1 if len(self.edges) == 1 else number
        for edge, needs in zip(self.edges, self._needs, strict=True):
            if not edge.is_whole:
                row = amounts[self._place[edge.producer]]
                for c, one in enumerate(self.classes[self._place[edge.producer]]):
                    parts = self._received(edge, needs, high, number, one)
                    row[c] += edge.unit * (-(-parts // number) if count == 1 else parts)
        width = max(1, self.length - (number - 1) * high)
        base = self._launch - (-self._least_work(1) * width // self.length)
        base += self._instance.router_ticks(0, shared)
        ticks, per = self._instance.point_to_point
        return Sum(base, 0, ticks, per * count, amounts)

    def _received(self, edge: Edge, needs: Needs, high: int, number: int, held: Class) -> int:
        """Return how much all devices receive at least, in parts of `edge.unit` bytes.

        What they need adds up to `cover` and what overlaps at the number - 1 cuts. If dimensions
        cross, the amounts needed times the widths held add up to at most the largest amount times
        the producer's length, or to the largest width times all amounts. Otherwise, every index
        counts as held once at most; and of what the largest holder has, only what it needs itself.
        """
        _, most_needed = needs.of_width(high)
        if self._instance.crosses(edge):
            length = self._instance.length[edge.producer]
            needed = max(0, needs.cover + (number - 1) * needs.least_overlap)
            return max(0, (needed - most_needed) * length, needed * (length - held[1]))
        used = needs.cover - (number - 1) * needs.most_skipped
        useless = max(0, held[0] - (edge.extent - used) - most_needed)
        return (number - 1) * needs.least_twice + useless

    def _others(self, high: int, number: int) -> Sum:
        """Return the ticks if the largest holder of the input is one of those that compute."""
        return self._without_holder(high, number, number - 1, self.length - high, 1)

    def _idle_holder(self, high: int, number: int) -> Sum:
        """Return the ticks if the largest holder of the input computes nothing."""
        return self._without_holder(high, number, number, self.length, 0)

    def _without_holder(self, high: int, number: int, others: int, width: int, own: int) -> Sum:
        (edge,), (needs,) = self.edges, self._needs
        needed = needs.cover + (number - 1) * needs.least_overlap - own * needs.of_width(high)[1]
        row = [edge.unit * max(0, needed - (edge.extent - least)) for least, _ in self.classes[0]]
        ticks, per = self._instance.point_to_point
        divisor = per * self._fastest[others] * self.length
        fixed = self._unit * per * width
        return Sum(self._launch, fixed, ticks * self._slowest * self.length, divisor, [row])

    def smallest(self, own: Class, added: list[list[int]]) -> int:
        """Return the least ticks in a class plus what is added for the classes of the inputs."""
        least = self.least(own)
        sizes = [len(row) for row in self.classes]
        if len(sizes) <= MOST_COMBINED:
            combinations = 1
            for size in sizes:
                combinations *= size
            hold(80 * combinations)
            spend(combinations * (2 + sum(map(len, least.together))))
            more = [0]
            for row in added:
                more = [total + amount for total in more for amount in row]
            return min(map(sum, zip(least.table(), more, strict=True)))
        spend(sum(sizes) * 4 * (1 + sum(map(len, least.together))))
        found = [_smallest_apart(least.widest, added)]
        found += [
            min(_smallest_apart(choice, added) for choice in choices) for choices in least.together
        ]
        return max(found)


def _smallest_apart(ticks: Sum, added: list[list[int]]) -> int:
    base, more = ticks.apart()
    return base + sum(
        min(x + y for x, y in zip(row, extra, strict=True))
        for row, extra in zip(more, added, strict=True)
    )


def operators(
    instance: Instance, classes: list[list[Class]], *, with_memory: bool = False
) -> list[Operator]:
    """Return all operators, restricted to the plans that memory allows if that counts."""
    needed = sum(instance.length[edge.consumer] for edge in instance.edges)
    hold(200 * sum(map(len, classes)) + INDEX_BYTES * needed)
    waiting = waiting_bytes(instance) if with_memory else [None] * len(instance.length)
    return [Operator(instance, number, classes, other) for number, other in enumerate(waiting)]
