"""Instruction lists, one per device."""

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Run:
    """Run a block, together with its other devices if it has several."""

    block: int
    micro_batch: int

    def __str__(self) -> str:
        return f"run {self.block} of micro-batch {self.micro_batch}"


@dataclass(frozen=True)
class Send:
    """Send a block's result to a device; in a non-blocking program, only begin to."""

    block: int
    micro_batch: int
    to: int

    def __str__(self) -> str:
        return f"send {self.block} of micro-batch {self.micro_batch} to device {self.to}"


@dataclass(frozen=True)
class Receive:
    """Receive a block's result from a device; in a non-blocking program, only get ready for it."""

    block: int
    micro_batch: int
    source: int

    def __str__(self) -> str:
        return f"receive {self.block} of micro-batch {self.micro_batch} from device {self.source}"


@dataclass(frozen=True)
class Wait:
    """Wait until a block's result has arrived; in non-blocking programs only."""

    block: int
    micro_batch: int

    def __str__(self) -> str:
        return f"wait for {self.block} of micro-batch {self.micro_batch}"


Instruction: TypeAlias = Run | Send | Receive | Wait


@dataclass(frozen=True)
class Program:
    """The instruction lists of all devices.

    Attributes
    ----------
    devices
        The instructions of each device, in turn.
    is_blocking
        Whether a device does nothing else from `Send` and `Receive` on until the tensor arrives.
        Otherwise transfers run beside blocks, in the order in which they were begun on a device.
    """

    devices: tuple[tuple[Instruction, ...], ...]
    is_blocking: bool

    def to_json(self) -> dict[str, Any]:
        """Return the lists with one object per instruction, e.g. ``{"send": 3, "to": 1, ...}``."""
        return {
            "blocking": self.is_blocking,
            "devices": [[_to_json(item) for item in items] for items in self.devices],
        }


def _to_json(instruction: Instruction) -> dict[str, int]:
    match instruction:
        case Run(block, number):
            return {"run": block, "micro_batch": number}
        case Send(block, number, to):
            return {"send": block, "micro_batch": number, "to": to}
        case Receive(block, number, source):
            return {"receive": block, "micro_batch": number, "from": source}
        case Wait(block, number):
            return {"wait": block, "micro_batch": number}
