"""Longest paths between blocks, in ticks."""

from ..budget import spend
from ..graph import topological_order
from .instance import Instance


class Paths:
    """The longest paths of an instance, in ticks."""

    def __init__(self, instance: Instance) -> None:
        self._duration = instance.duration
        self._size = len(instance.duration) + len(instance.edges)
        spend(4 * self._size)
        self.order = topological_order(instance.edges) or []
        self.producers: list[list[int]] = [[] for _ in instance.duration]
        for u, v in instance.edges:
            self.producers[v].append(u)

    def heads(self) -> list[int]:
        """Return the earliest start of each block."""
        spend(2 * self._size)
        earliest = [0] * len(self._duration)
        for v in self.order:
            ready = (earliest[u] + self._duration[u] for u in self.producers[v])
            earliest[v] = max(ready, default=0)
        return earliest

    def tails(self) -> list[int]:
        """Return the ticks from the end of each block to the end of what waits for it."""
        spend(2 * self._size)
        left = [0] * len(self._duration)
        for v in reversed(self.order):
            for u in self.producers[v]:
                left[u] = max(left[u], self._duration[v] + left[v])
        return left

    def from_block(self, block: int) -> list[int | None]:
        """Return the longest path from the start of a block to each other's, None without any."""
        spend(self._size)
        after: list[int | None] = [None] * len(self._duration)
        after[block] = 0
        for v in self.order:
            for u in self.producers[v]:
                start = after[u]
                if start is not None:
                    after[v] = max(after[v] or 0, start + self._duration[u])
        return after
