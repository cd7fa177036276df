"""Block layouts: the blocks of one micro-batch, their dependencies, and the devices they occupy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.dag import Dag
from boundmark.problems.errors import InvalidInputError

Kind = Literal["forward", "backward", "weight"]

# Sums over all blocks of all micro-batches fit into 64 bits.
LARGEST_AMOUNT = 2**32

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Block:
    """A block of one micro-batch ([TESSEL24], Section III-A).

    Attributes
    ----------
    name
        For people, e.g. ``"F2"``; no schedule depends on it.
    kind
        ``"forward"``, ``"backward"``, or ``"weight"`` for the part of a backward pass that nothing
        waits for, the gradients of the weights.
    duration
        Ticks, at least 1.
    memory
        What each of its devices holds more from the block's start on; less if negative.
    devices
        The devices that it occupies together, ascending.
    """

    name: str
    kind: Kind
    duration: int
    memory: int
    devices: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInputError(
                f"kind of block {self.name!r} is {self.kind!r}; expected {' or '.join(KINDS)}."
            )
        if type(self.duration) is not int or not 1 <= self.duration <= LARGEST_AMOUNT:
            raise InvalidInputError(
                f"duration of block {self.name!r} is {self.duration!r}; "
                f"expected an integer from 1 to {LARGEST_AMOUNT}."
            )
        if type(self.memory) is not int or abs(self.memory) > LARGEST_AMOUNT:
            raise InvalidInputError(
                f"memory of block {self.name!r} is {self.memory!r}; "
                f"expected an integer from -{LARGEST_AMOUNT} to {LARGEST_AMOUNT}."
            )
        if not self.devices or any(type(d) is not int or d < 0 for d in self.devices):
            raise InvalidInputError(
                f"devices of block {self.name!r} are {list(self.devices)}; "
                "expected at least one device number."
            )
        object.__setattr__(self, "devices", tuple(sorted(set(self.devices))))


# Schedules keep an entry for every block of every micro-batch.
LARGEST_LAYOUT = 2**12


@dataclass(frozen=True, eq=False)
class BlockLayout:
    """An operator layout strategy ([TESSEL24], Figure 1): blocks and what they wait for.

    Attributes
    ----------
    blocks
        Blocks of one micro-batch.
    dag
        Edges from a block to those that need its result.
    devices
        Number of devices, D; some may be idle.
    memory_per_device
        What each device has by default; 0 if the layout does not say.
    held
        What weights and the like take of it for good, shape (D,), or empty if they take nothing.
    """

    blocks: tuple[Block, ...]
    dag: Dag
    devices: int
    memory_per_device: int = 0
    held: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.blocks) <= LARGEST_LAYOUT:
            raise InvalidInputError(
                f"the layout has {len(self.blocks)} blocks; expected 1 to {LARGEST_LAYOUT} of them."
            )
        if self.dag.nodes != len(self.blocks):
            raise InvalidInputError(
                f"the graph has {self.dag.nodes} nodes; "
                f"expected one for each of the {len(self.blocks)} blocks."
            )
        if not 1 <= self.devices <= LARGEST_LAYOUT:
            raise InvalidInputError(
                f"devices is {self.devices}; expected 1 to {LARGEST_LAYOUT} devices."
            )
        for block in self.blocks:
            if block.devices[-1] >= self.devices:
                raise InvalidInputError(
                    f"block {block.name!r} is on device {block.devices[-1]}; "
                    f"expected devices from 0 to {self.devices - 1}."
                )
        if self.held and (len(self.held) != self.devices or min(self.held) < 0):
            raise InvalidInputError(
                f"held is {list(self.held)}; expected an amount of at least 0 for each of the "
                f"{self.devices} devices."
            )
        for device, change in enumerate(self._memory_changes):
            if change:
                raise InvalidInputError(
                    f"each micro-batch leaves {change:+d} of memory on device {device}; "
                    "expected that its blocks release what they allocate."
                )

    @classmethod
    def from_blocks(
        cls, blocks: Sequence[Block], dependencies: Sequence[tuple[int, int]], devices: int
    ) -> "BlockLayout":
        """Build a layout from pairs (block, a block that needs its result).

        Raises
        ------
        InvalidInputError
            If a dependency names no block or they form a cycle, if a device is out of range, or if
            a micro-batch changes the memory of a device for good.
        """
        names = tuple(block.name for block in blocks)
        return cls(tuple(blocks), Dag.from_edges(len(blocks), dependencies, names), devices)

    def with_memory(self, memory_per_device: int, held: Sequence[int]) -> "BlockLayout":
        """Return the layout with its devices' memory, part of which is held permanently."""
        return replace(self, memory_per_device=memory_per_device, held=tuple(held))

    @property
    def _memory_changes(self) -> list[int]:
        changes = [0] * self.devices
        for block in self.blocks:
            for device in block.devices:
                changes[device] += block.memory
        return changes

    @cached_property
    def durations(self) -> IntArray:
        """Ticks of each block, shape (K,)."""
        return frozen([block.duration for block in self.blocks])

    @cached_property
    def memory(self) -> IntArray:
        """The change of memory that each block makes on its devices, shape (K,)."""
        return frozen([block.memory for block in self.blocks])

    @cached_property
    def on_device(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the blocks on each device."""
        return tuple(
            tuple(i for i, block in enumerate(self.blocks) if device in block.devices)
            for device in range(self.devices)
        )

    @cached_property
    def loads(self) -> tuple[int, ...]:
        """Ticks that each device computes for one micro-batch."""
        return tuple(sum(self.blocks[i].duration for i in blocks) for blocks in self.on_device)


def forward_partners(layout: BlockLayout) -> dict[int, int]:
    """Return the forward block of each backward block that has one.

    A backward block belongs to a forward block on the same devices whose result it needs. What is
    left on the same devices is paired from the outside in: the last backward block with the first
    forward block, as in the sharded embeddings of [TESSEL24], Figure 8.
    """
    blocks = layout.blocks
    order = layout.dag.topological_order.tolist()
    backward = [i for i in order if blocks[i].kind == "backward"]
    partners: dict[int, int] = {}
    for i in backward:
        for p in layout.dag.producers_of(i).tolist():
            is_partner = blocks[p].kind == "forward" and blocks[p].devices == blocks[i].devices
            if is_partner and p not in partners.values():
                partners[i] = p
                break
    paired = set(partners.values())
    left = [i for i in order if blocks[i].kind == "forward" and i not in paired]
    for i in backward:
        candidates = [p for p in left if blocks[p].devices == blocks[i].devices]
        if i not in partners and candidates:
            partners[i] = candidates[-1]
            left.remove(candidates[-1])
    return partners


def backward_partners(layout: BlockLayout) -> dict[int, int]:
    """Return the backward block of each block of kind weight that has one.

    It is the one on the same devices whose result the block needs.
    """
    blocks = layout.blocks
    partners: dict[int, int] = {}
    for i, block in enumerate(blocks):
        if block.kind == "weight":
            candidates = [
                p
                for p in layout.dag.producers_of(i).tolist()
                if blocks[p].kind == "backward" and blocks[p].devices == block.devices
            ]
            if len(candidates) == 1 and candidates[0] not in partners.values():
                partners[i] = candidates[0]
    return partners
