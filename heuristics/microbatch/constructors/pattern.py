"""Patterns: what each device repeats, with every block of its own once per repetition."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundmark.heuristics.microbatch.constructors.device_orders import DeviceOrders
from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout


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
        """Return the pattern of some orders, lags shifted so that none exceeds its inputs'.

        Raises
        ------
        UnsupportedError
            If no shift of the devices' repetitions achieves that.
        """
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
        """The least number of micro-batches with which a repetition is complete."""
        return 1 + max(lag for order in self.turns for _, lag in order)

    def orders(self, micro_batches: int) -> DeviceOrders:
        """Return the device orders for a number of micro-batches, others left out."""
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
