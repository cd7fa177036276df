"""Computes least times between operators, for each pair of their devices."""

from typing import NamedTuple

from ..budget import hold, spend
from ..graph import topological_order
from ..values import Rejected
from .alike import alike_devices
from .instance import ENTRY_BYTES, UNSUPPORTED, Instance, least_memory

# As an interval's first or last operator: the begin or the end of the schedule.
OUTSIDE = -1

# More than any schedule without pauses takes: what cannot be.
NEVER = 2**60


class Jump(NamedTuple):
    """A proven lower bound on the ticks from the end of one operator to the start of another.

    Attributes
    ----------
    first, last
        The operators; either may be `OUTSIDE`.
    least
        Ticks for each device of the first (a row) and of the last (a column); a single row or
        column where that is `OUTSIDE`.
    """

    first: int
    last: int
    least: list[list[int]]


class Network:
    """The graph of the operators, and the jumps proven so far."""

    def __init__(self, instance: Instance) -> None:
        nodes, self.devices = len(instance.memory), len(instance.capacity)
        count = sum(map(len, instance.consumers))
        hold(2 * ENTRY_BYTES * (nodes + count))
        spend(nodes * (4 + self.devices) + 2 * len(instance.producer) + 4 * count)
        # Where an operator cannot run, or has no room, it would never end.
        self.duration = [
            [
                NEVER if ticks == UNSUPPORTED or needed[ticks > 0] > capacity else ticks
                for ticks, capacity in zip(row, instance.capacity, strict=True)
            ]
            for row, needed in zip(instance.duration, least_memory(instance), strict=True)
        ]
        # Pairs of the other operator, and the ticks from device to device.
        self.inputs: list[list[tuple[int, list[int]]]] = [[] for _ in range(nodes)]
        self.outputs: list[list[tuple[int, list[int]]]] = [[] for _ in range(nodes)]
        edges = []
        for tensor, readers in enumerate(instance.consumers):
            producer, ticks = instance.producer[tensor], instance.times[instance.size[tensor]]
            for reader in readers:
                edges.append((producer, reader))
                self.inputs[reader].append((producer, ticks))
                self.outputs[producer].append((reader, ticks))
        order = topological_order(edges) or []
        alone = set(range(nodes)) - set(order)
        self.position = {v: at for at, v in enumerate([*sorted(alone), *order])}
        self.jumps_to: dict[int, list[Jump]] = {}
        self.jumps_from: dict[int, list[Jump]] = {}
        self._alike: list[int] | None = None

    def alike(self, instance: Instance) -> list[int]:
        """Return, for each device, the first device that is like it."""
        if self._alike is None:
            self._alike = alike_devices(instance, self.duration)
        return self._alike

    def add(self, jump: Jump) -> None:
        """Add a jump, which all later computations use."""
        self.jumps_to.setdefault(jump.last, []).append(jump)
        self.jumps_from.setdefault(jump.first, []).append(jump)

    def between(self, first: int, last: int) -> list[int]:
        """Return the operators between two, in topological order.

        These are all that the last one waits for, but for the first one and what that waits for;
        rejected unless each of them waits for the first one.
        """
        spend(len(self.inputs) if last == OUTSIDE else len(self.inputs[last]))
        if last == OUTSIDE:
            found = {v for v, readers in enumerate(self.outputs) if not readers} - {first}
        else:
            found = {v for v, _ in self.inputs[last]} - {first}
        if first != OUTSIDE and last != OUTSIDE and not self.inputs[last]:
            raise Rejected("the last operator of an interval does not wait for the first")
        waiting = list(found)
        for v in waiting:
            spend(1 + len(self.inputs[v]))
            if first != OUTSIDE and not self.inputs[v]:
                raise Rejected("an operator in an interval does not wait for the first")
            for u, _ in self.inputs[v]:
                if u != first and u not in found:
                    found.add(u)
                    waiting.append(u)
        spend(len(found))
        return sorted(found, key=self.position.__getitem__)

    def inside(self, first: int, last: int) -> list[int]:
        """Return the operators that wait for the first and that the last one waits for.

        They are in topological order; rejected unless the last one waits for the first.
        """
        spend(1)
        low = -1 if first == OUTSIDE else self.position[first]
        high = len(self.inputs) if last == OUTSIDE else self.position[last]
        if first == last == OUTSIDE:
            spend(high)
            return sorted(self.position, key=self.position.__getitem__)
        before = behind = None
        if last != OUTSIDE:
            before = self._reached(last, self.inputs, low, high)
            if first != OUTSIDE and first not in before:
                raise Rejected("the last operator of an interval does not wait for the first")
        if first != OUTSIDE:
            behind = self._reached(first, self.outputs, low, high)
        found = before if behind is None else behind if before is None else before & behind
        return sorted((found or set()) - {first}, key=self.position.__getitem__)

    def _reached(
        self, start: int, steps: list[list[tuple[int, list[int]]]], low: int, high: int
    ) -> set[int]:
        """Return what is found along inputs, or along outputs, at positions from low to high."""
        found: set[int] = set()
        waiting = [start]
        for v in waiting:
            spend(1 + len(steps[v]))
            for u, _ in steps[v]:
                if u not in found and low <= self.position[u] <= high:
                    found.add(u)
                    waiting.append(u)
        return found

    def heads(
        self, first: int, device: int, body: list[int], last: int
    ) -> tuple[dict[int, list[int]], list[int]]:
        """Return the least ticks from the end of the first operator to the start of others."""
        spend(len(body) * (4 + 2 * self.devices))
        starts: dict[int, list[int]] = {}
        ends: dict[int, list[int]] = {}
        for v in body:
            starts[v] = self._start(v, first, device, ends)
            ends[v] = [s + p for s, p in zip(starts[v], self.duration[v], strict=True)]
        if last != OUTSIDE:
            return starts, self._start(last, first, device, ends)
        least = max((min(end) for end in ends.values()), default=0)
        spend(len(self.jumps_to.get(OUTSIDE, ())) * (1 + self.devices))
        for jump in self.jumps_to.get(OUTSIDE, ()):
            if jump.first in ends:
                whole = min(e + row[0] for e, row in zip(ends[jump.first], jump.least, strict=True))
                least = max(least, whole)
        return starts, [least]

    def _start(self, v: int, first: int, device: int, ends: dict[int, list[int]]) -> list[int]:
        span = range(self.devices)
        jumps = self.jumps_to.get(v, ())
        spend(self.devices + (len(self.inputs[v]) + len(jumps)) * self.devices**2)
        start = [0] * self.devices
        for u, ticks in self.inputs[v]:
            for d in span:
                if u == first:
                    least = ticks[device * self.devices + d]
                elif u not in ends:
                    continue
                else:
                    least = min(ends[u][e] + ticks[e * self.devices + d] for e in span)
                start[d] = max(start[d], least)
        for jump in jumps:
            for d in span:
                if jump.first == first:
                    start[d] = max(start[d], jump.least[device][d])
                elif jump.first in ends:
                    least = min(ends[jump.first][e] + jump.least[e][d] for e in span)
                    start[d] = max(start[d], least)
        return start

    def tails(self, body: list[int], last: int, device: int) -> dict[int, list[int]]:
        """Return the least ticks from the end of operators to the start of the last one."""
        spend(len(body) * (4 + 2 * self.devices))
        # For each operator, the ticks from its start.
        from_start = {last: [NEVER] * (1 if last == OUTSIDE else self.devices)}
        from_start[last][device] = 0
        after: dict[int, list[int]] = {}
        span = range(self.devices)
        for v in reversed(body):
            jumps = self.jumps_from.get(v, ())
            spend((len(self.outputs[v]) + len(jumps)) * self.devices**2)
            after[v] = [0] * self.devices
            for w, ticks in self.outputs[v]:
                if w in from_start:
                    for d in span:
                        least = min(ticks[d * self.devices + e] + from_start[w][e] for e in span)
                        after[v][d] = max(after[v][d], least)
            for jump in jumps:
                if jump.last in from_start:
                    to = from_start[jump.last]
                    for d in span:
                        least = min(a + b for a, b in zip(jump.least[d], to, strict=True))
                        after[v][d] = max(after[v][d], least)
            from_start[v] = [a + p for a, p in zip(after[v], self.duration[v], strict=True)]
        return after
