"""Blocks: the forward or backward work of one stage on one micro-batch."""

from dataclasses import dataclass
from typing import Literal, get_args

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
