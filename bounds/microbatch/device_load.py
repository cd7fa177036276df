"""`device-load`: the work of the busiest device.

For the period, the bound is the work of the busiest device ([TESSEL24], Algorithm 1, line 8). For
the makespan, it is that of sets of blocks with long paths before and after them, as for heads and
tails in one-machine scheduling (J. Carlier, "The one-machine sequencing problem", EJOR 1982).
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.certificate import Certificate
from boundmark.problems.method import Budget, Progress
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


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
        """Longest path to the start of each block, in ticks, shape (K,)."""
        dag = self.layout.dag
        heads = np.zeros(dag.nodes, dtype=np.int64)
        for v in dag.topological_order.tolist():
            producers = dag.producers_of(v)
            heads[v] = (heads[producers] + self.duration[producers]).max(initial=0)
        return frozen(heads)

    @cached_property
    def tails(self) -> IntArray:
        """Longest path from the end of each block, in ticks, shape (K,)."""
        dag = self.layout.dag
        tails = np.zeros(dag.nodes, dtype=np.int64)
        for u in dag.topological_order[::-1].tolist():
            consumers = dag.consumers_of(u)
            tails[u] = (tails[consumers] + self.duration[consumers]).max(initial=0)
        return frozen(tails)

    def between_starts(self, block: int) -> list[int | None]:
        """Return the longest path from a block's start to each other start, None without a path."""
        dag, duration = self.layout.dag, self.duration.tolist()
        between: list[int | None] = [None] * dag.nodes
        between[block] = 0
        for v in dag.topological_order.tolist():
            for u in dag.producers_of(v).tolist():
                start = between[u]
                if start is not None:
                    between[v] = max(between[v] or 0, start + duration[u])
        return between


KIND = "device-load/1"


def certificate(instance: MicrobatchInstance, producer: str) -> Certificate:
    """Return the certificate of the device with the largest bound."""
    layout = instance.layout
    paths = LongestPaths(layout)
    head, tail = paths.heads.tolist(), paths.tails.tolist()
    best: tuple[int, int, list[int]] = (-1, 0, [])
    for device, here in enumerate(layout.on_device):
        if not here:
            continue
        if not instance.micro_batches:
            best = max(best, (layout.loads[device], device, list(here)))
            continue
        for earliest, after in itertools.product({head[i] for i in here}, {tail[i] for i in here}):
            blocks = [i for i in here if head[i] >= earliest and tail[i] >= after]
            work = sum(layout.blocks[i].duration for i in blocks)
            bound = earliest + instance.micro_batches * work + after
            if blocks:
                best = max(best, (bound, device, blocks))
    bound, device, blocks = best
    payload = {"device": device, "blocks": blocks}
    return Certificate.of(instance, KIND, bound, payload, producer)


def run(
    instance: MicrobatchInstance, budget: Budget, seed: int, progress: Progress, **params: Any
) -> None:
    """Report the bound of the busiest device."""
    progress.bound(certificate(instance, "device-load"))
