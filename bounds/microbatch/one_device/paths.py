"""Longest paths through the blocks of a micro-batch: how long one has to wait for another."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.microbatch import BlockLayout


@dataclass(frozen=True)
class LongestPaths:
    """The longest paths of a layout, in ticks."""

    layout: BlockLayout

    @cached_property
    def duration(self) -> IntArray:
        """Ticks that each block takes, shape (K,)."""
        return frozen([block.duration for block in self.layout.blocks])

    @cached_property
    def heads(self) -> IntArray:
        """Ticks before which each block cannot start, shape (K,)."""
        dag = self.layout.dag
        heads = np.zeros(dag.nodes, dtype=np.int64)
        for v in dag.topological_order.tolist():
            producers = dag.producers_of(v)
            heads[v] = (heads[producers] + self.duration[producers]).max(initial=0)
        return frozen(heads)

    @cached_property
    def tails(self) -> IntArray:
        """Ticks from the end of each block to the end of all that waits for it, shape (K,)."""
        dag = self.layout.dag
        tails = np.zeros(dag.nodes, dtype=np.int64)
        for u in dag.topological_order[::-1].tolist():
            consumers = dag.consumers_of(u)
            tails[u] = (tails[consumers] + self.duration[consumers]).max(initial=0)
        return frozen(tails)

    def between_starts(self, block: int) -> list[int | None]:
        """Return the ticks from a block's start to each start that waits for it, None elsewhere."""
        dag, duration = self.layout.dag, self.duration.tolist()
        between: list[int | None] = [None] * dag.nodes
        between[block] = 0
        for v in dag.topological_order.tolist():
            for u in dag.producers_of(v).tolist():
                start = between[u]
                if start is not None:
                    between[v] = max(between[v] or 0, start + duration[u])
        return between
