"""The kind modulo-tree: no phases of the blocks fit into a period."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ..graph import topological_order
from ..values import Rejected, fields, integer, integers
from .instance import Instance
from .one_device import read_pairs

LONGEST_TREE_PERIOD = 2**10
MOST_TREE_NODES = 100_000

# Nodes times edges times allocations, which is about ten seconds.
MOST_TREE_STEPS = 2**24


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
    pairs = [read_pairs(instance, d, value) if value else [] for d, value in enumerate(lists)]
    tree = PhaseTree(instance, order, [[p[:3] for p in some] for some in pairs])
    for period in range(tree.load, bound):
        if not tree.refutes(period):
            raise Rejected("the tree does not refute a period")
    return max(bound, tree.load)


class PhaseTree:
    """Gives blocks phases in an order, and goes back where they cannot be part of a schedule.

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
        self._pairs = pairs
        self._producers: dict[int, list[int]] = defaultdict(list)
        for u, v in instance.edges:
            self._producers[v].append(u)
        self._topological = topological_order(instance.edges) or []
        self._sources = sorted({first for some in pairs for first, _, _ in some})
        load = [0] * len(instance.capacity)
        for ticks, devices in zip(instance.duration, instance.device_sets, strict=True):
            for device in devices:
                load[device] += ticks
        self.load = max(load)
        steps = (len(instance.edges) + 1) * (len(self._sources) + 1)
        self._most = min(MOST_TREE_NODES, MOST_TREE_STEPS // steps)
        self.nodes = 0

    def refutes(self, period: int, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Whether no phases remain for a period; False also if stopped or after too many nodes."""
        phases: dict[int, int] = {}
        taken = [0] * len(self._instance.capacity)
        # Any moment may be called the beginning of a period.
        options: list[Iterator[int]] = [iter([0])]
        masks: list[int] = []
        if self._is_impossible(phases, period):
            return True
        while options:
            block = self._order[len(options) - 1]
            if block in phases:
                del phases[block]
                mask = masks.pop()
                for device in self._instance.device_sets[block]:
                    taken[device] ^= mask
            phase = next(options[-1], None)
            if phase is None:
                options.pop()
                continue
            mask = self._ticks(block, phase, period)
            if any(taken[device] & mask for device in self._instance.device_sets[block]):
                continue
            self.nodes += 1
            if self.nodes > self._most or is_stopped():
                return False
            phases[block] = phase
            masks.append(mask)
            for device in self._instance.device_sets[block]:
                taken[device] |= mask
            if self._is_impossible(phases, period):
                continue
            if len(phases) == len(self._order):
                return False
            options.append(iter(range(period)))
        return True

    def _ticks(self, block: int, phase: int, period: int) -> int:
        """Return the ticks of a period that a block takes, as bits."""
        mask = ((1 << self._instance.duration[block]) - 1) << phase
        return (mask | mask >> period) & ((1 << period) - 1)

    def _is_impossible(self, phases: dict[int, int], period: int) -> bool:
        after = {first: self._after(first, phases, period) for first in self._sources}
        for device, pairs in enumerate(self._pairs):
            capacity = self._instance.capacity[device]
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
        """Return the ticks from the start of a block to those that wait for it, at least."""
        after = {first: 0}
        for v in self._topological:
            ready = [
                after[u] + self._wait(u, v, phases, period)
                for u in self._producers[v]
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
