"""Computes which widths of parts and numbers of devices memory allows an operator."""

from ..budget import hold, spend
from .instance import Edge, Instance
from .needs import Needs


class Room:
    """The widths that an operator's parts may have, by the memory that is free while it runs.

    While a device computes a part of width w, it holds the part's parameters and output, and what
    the part needs of each tensor, computed there or received. Of a tensor sliced in the same
    dimension, each index needed takes its bytes received or its bytes in the producer's output,
    whichever are less. If dimensions cross, what is held and received is linear in the number of
    indices held, so least at either end. Of several tensors of one producer, the largest counts.

    Together, the devices also hold the whole output of each producer, and the outputs that wait for
    later operators in every order (`waiting_bytes`).

    Attributes
    ----------
    widths
        For each device, indices of the operator that it can compute, at most.
    numbers
        Numbers of devices that can compute parts.
    """

    def __init__(self, instance: Instance, number: int, needs: list[Needs], waiting: int) -> None:
        self._instance, self._number = instance, number
        self._pairs = list(zip(instance.inputs[number], needs, strict=True))
        length, capacity = instance.length[number], instance.capacity
        self.widths = [self._widest(limit) for limit in capacity]
        most = sorted(self.widths, reverse=True)
        steps = len(capacity) * (4 + 4 * len(self._pairs))
        spend(steps)
        self.numbers = [
            active
            for active in range(1, min(len(capacity), length) + 1)
            if most[active - 1] > 0
            and sum(most[:active]) >= length
            and waiting + self._together(active) <= sum(capacity)
        ]

    def _widest(self, limit: int) -> int:
        low, high = 0, self._instance.length[self._number] + 1
        while low + 1 < high:
            width = (low + high) // 2
            if self._part(width) <= limit:
                low = width
            else:
                high = width
        return low

    def _part(self, width: int) -> int:
        """Return the least bytes of a device that computes a part of this width."""
        instance, number = self._instance, self._number
        spend(4 + 4 * len(self._pairs))
        taken = width * instance.output[number]
        if instance.axis[number] == 0:
            taken -= -instance.weights[number] * width // instance.length[number]
        else:
            taken += instance.weights[number]
        held: dict[int, int] = {}
        for edge, needs in self._pairs:
            bytes_ = self._held(edge, needs.of_width(width)[0])
            held[edge.producer] = max(held.get(edge.producer, 0), bytes_)
        return taken + sum(held.values())

    def _held(self, edge: Edge, needed: int) -> int:
        """Return the least bytes held and received of a tensor of which so much is needed."""
        instance, output = self._instance, self._instance.output[edge.producer]
        if instance.crosses(edge):
            return instance.length[edge.producer] * min(edge.unit * needed, output)
        return needed * min(edge.unit, output)

    def _together(self, active: int) -> int:
        """Return the least bytes on all devices if so many of them compute parts."""
        instance, number = self._instance, self._number
        copies = 1 if instance.axis[number] == 0 else active
        taken = copies * instance.weights[number]
        taken += instance.length[number] * instance.output[number]
        held: dict[int, int] = {}
        for edge, needs in self._pairs:
            least = instance.length[edge.producer] * instance.output[edge.producer]
            if edge.is_whole:
                least = max(least, active * self._held(edge, edge.extent))
            elif not instance.crosses(edge):
                needed = max(0, needs.cover + (active - 1) * needs.least_overlap)
                least = max(least, self._held(edge, needed))
            held[edge.producer] = max(held.get(edge.producer, 0), least)
        return taken + sum(held.values())


def waiting_bytes(instance: Instance) -> list[int]:
    """Return for each operator outputs that wait while it runs, in whatever order operators run.

    An output waits if its producer comes before the operator in every order, one of its readers
    after it, and the operator itself does not read it.
    """
    nodes = len(instance.length)
    spend(nodes * (8 + nodes) + 8 * len(instance.edges))
    hold(nodes * (200 + nodes // 4))
    before, after = [0] * nodes, [0] * nodes
    readers: list[list[int]] = [[] for _ in range(nodes)]
    for operator, inputs in enumerate(instance.inputs):
        for edge in inputs:
            before[operator] |= before[edge.producer] | 1 << edge.producer
            readers[edge.producer].append(operator)
    for operator in reversed(range(nodes)):
        for reader in readers[operator]:
            after[operator] |= after[reader] | 1 << reader
    found = [0] * nodes
    for producer in range(nodes):
        between = 0
        for reader in readers[producer]:
            between |= after[producer] & before[reader]
        for reader in readers[producer]:
            between &= ~(1 << reader)
        while between:
            operator = between.bit_length() - 1
            found[operator] += _output(instance, producer)
            between ^= 1 << operator
    return found


def _output(instance: Instance, operator: int) -> int:
    return instance.length[operator] * instance.output[operator]


def split_within(length: int, work: list[int], launch: list[int], widths: list[int]) -> int:
    """Return the least ticks in which devices compute an operator, none more than its width."""
    spend(2 + len(work))
    if not all(work):
        return 0
    low, high = -1, max(map(sum, zip(work, launch, strict=True)))
    spend(high.bit_length() * len(work))
    while low + 1 < high:
        ticks = (low + high) // 2
        done = sum(
            min(width, max(0, ticks - start) * length // one)
            for one, start, width in zip(work, launch, widths, strict=True)
        )
        if done >= length:
            high = ticks
        else:
            low = ticks
    return high
