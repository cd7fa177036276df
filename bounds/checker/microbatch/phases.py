"""Checks the kind modulo-tree: searches for phases of all blocks within a period."""

from collections.abc import Callable
from typing import Any

from ..budget import hold, spend
from ..values import Rejected, fields, integer, integers
from .instance import Instance
from .limits import LONGEST_TREE_PERIOD, MOST_TREE_NODES, MOST_TREE_STEPS
from .one_device import read_pairs
from .paths import Paths

# What the start of a block takes, as seen from that of another.
START_BYTES = 150


def modulo_tree(instance: Instance, payload: Any) -> int:
    """Return the bound if the search refutes all periods from the largest load up to it."""
    payload = fields(payload, "the payload", {"bound", "order", "pairs"})
    bound = integer(payload["bound"], "bound of the payload", 1, LONGEST_TREE_PERIOD)
    order = integers(payload["order"], "order of the payload", 0, len(instance.duration) - 1)
    if sorted(order) != list(range(len(instance.duration))):
        raise Rejected("order of the payload does not have every block once")
    if instance.micro_batches:
        raise Rejected("the period does not count")
    lists = payload["pairs"]
    if type(lists) is not list or len(lists) != len(instance.capacity):
        raise Rejected("pairs of the payload are not one list for each device")
    # Without pairs, nothing is concluded from what a device holds.
    paths = Paths(instance)
    pairs = [
        read_pairs(instance, paths, device, value) if value else []
        for device, value in enumerate(lists)
    ]
    tree = PhaseTree(instance, order, [[p[:3] for p in some] for some in pairs])
    for period in range(tree.load, bound):
        if not tree.refutes(period):
            raise Rejected("the tree does not refute a period")
    return max(bound, tree.load)


class PhaseTree:
    """Searches depth first for phases of all blocks, in a given order of the blocks.

    Phases of blocks are cut off if they overlap on a device around the period, or if a device has
    to hold more than its capacity. The difference of two starts is at least a longest path, and
    with both phases given it is the next number from there on with the right remainder. It decides
    of how many micro-batches an allocation has started and its release has not, at any phase.
    """

    def __init__(
        self, instance: Instance, order: list[int], pairs: list[list[tuple[int, int, int]]]
    ) -> None:
        self._instance = instance
        self._order = order
        # Devices that have none hold nothing that counts.
        self._pairs = [
            (capacity, some)
            for capacity, some in zip(instance.capacity, pairs, strict=True)
            if some
        ]
        self._paths = Paths(instance)
        self._sources = sorted({first for some in pairs for first, _, _ in some})
        hold(START_BYTES * len(self._sources) * len(instance.duration))
        spend(instance.occupied + len(instance.capacity))
        load = [0] * len(instance.capacity)
        for ticks, devices in zip(instance.duration, instance.device_sets, strict=True):
            for device in devices:
                load[device] += ticks
        self.load = max(load)
        steps = (len(instance.edges) + 1) * (len(self._sources) + 1)
        self._most = min(MOST_TREE_NODES, MOST_TREE_STEPS // steps)
        moments = [len({first for first, _, _ in some}) for some in pairs]
        self._steps = steps + sum(
            len(some) * (2 + count) for some, count in zip(pairs, moments, strict=True)
        )
        self.nodes = 0

    def refutes(self, period: int, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Whether a period has no phases; False also if stopped or after too many nodes."""
        phases: dict[int, int] = {}
        taken = [0] * len(self._instance.capacity)
        # Any moment may be called the beginning of a period. Phases to try are bits of a number.
        options = [1]
        masks: list[int] = []
        if self._is_impossible(phases, period):
            return True
        while options:
            block = self._order[len(options) - 1]
            devices = self._instance.device_sets[block]
            if block in phases:
                del phases[block]
                mask = masks.pop()
                for device in devices:
                    taken[device] ^= mask
            if not options[-1]:
                options.pop()
                continue
            first = options[-1] & -options[-1]
            options[-1] ^= first
            self.nodes += 1
            spend(4 + len(devices) // 4)
            if self.nodes > self._most or is_stopped():
                return False
            phases[block] = first.bit_length() - 1
            mask = self._ticks(block, phases[block], period)
            masks.append(mask)
            for device in devices:
                taken[device] |= mask
            if self._is_impossible(phases, period):
                continue
            if len(phases) == len(self._order):
                return False
            options.append(self._free(self._order[len(options)], taken, period))
        return True

    def _ticks(self, block: int, phase: int, period: int) -> int:
        """Return the ticks of a period that a block occupies, as bits."""
        mask = ((1 << self._instance.duration[block]) - 1) << phase
        return (mask | mask >> period) & ((1 << period) - 1)

    def _free(self, block: int, taken: list[int], period: int) -> int:
        """Return the phases, as bits, at which the devices of a block are free for long enough."""
        devices, whole = self._instance.device_sets[block], (1 << period) - 1
        spend(2 * len(devices) + 10)
        busy = 0
        for device in devices:
            busy |= taken[device]
        free, length = whole & ~busy, 1
        while length < self._instance.duration[block]:
            more = min(length, self._instance.duration[block] - length)
            free &= (free >> more | free << period - more) & whole
            length += more
        return free

    def _is_impossible(self, phases: dict[int, int], period: int) -> bool:
        spend(self._steps)
        after = {first: self._after(first, phases, period) for first in self._sources}
        for capacity, pairs in self._pairs:
            total = sum(
                amount * (after[first][last] + self._instance.duration[last])
                for first, last, amount in pairs
            )
            if total > capacity * period:
                return True
            for moment in {phases[first] for first, _, _ in pairs if first in phases}:
                held = 0
                for first, last, amount in pairs:
                    whole, rest = divmod(after[first][last], period)
                    held += amount * whole
                    if rest and first in phases and last in phases:
                        held += amount * ((moment - phases[first]) % period < rest)
                if held > capacity:
                    return True
        return False

    def _after(self, first: int, phases: dict[int, int], period: int) -> dict[int, int]:
        """Return lower bounds on the ticks from the start of a block to those that wait for it."""
        after = {first: 0}
        for v in self._paths.order:
            ready = [
                after[u] + self._wait(u, v, phases, period)
                for u in self._paths.producers[v]
                if u in after
            ]
            if ready:
                after[v] = max(ready)
                if first in phases and v in phases:
                    after[v] += (phases[v] - phases[first] - after[v]) % period
        return after

    def _wait(self, u: int, v: int, phases: dict[int, int], period: int) -> int:
        ticks = self._instance.duration[u]
        if u in phases and v in phases:
            ticks += (phases[v] - phases[u] - ticks) % period
        return ticks
