"""Simulation of instruction lists when tensors need time to travel."""

from collections.abc import Sequence
from dataclasses import dataclass

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch.layout import BlockLayout
from boundmark.problems.microbatch.runtime.instructions import (
    Instruction,
    Program,
    Receive,
    Run,
    Send,
    Wait,
)


@dataclass(frozen=True)
class Simulation:
    """Times of a simulated execution.

    Attributes
    ----------
    makespan
        When the last block ends, in ticks; a transfer beside blocks ends later only if nothing
        needs its tensor.
    busy
        Ticks in which each device runs blocks, shape (D,).
    transferring
        Ticks in which each device does nothing but send or receive, shape (D,); 0 without blocking.
    starts
        When each device starts its blocks, in the order of its list.
    """

    makespan: int
    busy: tuple[int, ...]
    transferring: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]

    @property
    def waiting(self) -> tuple[int, ...]:
        """Ticks up to the makespan in which each device does nothing at all, shape (D,)."""
        return tuple(
            self.makespan - busy - transferring
            for busy, transferring in zip(self.busy, self.transferring, strict=True)
        )


def simulate(layout: BlockLayout, program: Program, transfer: Sequence[int]) -> Simulation:
    """Simulate the execution of instruction lists.

    A transfer begins when both ends have come to it, have finished their transfers before, and the
    tensor is there. In a blocking program, both devices are occupied until it is over; otherwise it
    runs beside their blocks.

    Parameters
    ----------
    transfer
        Ticks to move the result of each block to one device, shape (K,).

    Raises
    ------
    InvalidInputError
        If devices wait for each other for ever.
    """
    machine = _Machine(layout, program, transfer)
    while any(machine.advance(device) for device in range(layout.devices)):
        pass
    machine.check_that_all_is_done()
    return Simulation(
        max(machine.last_end),
        tuple(machine.busy),
        tuple(machine.transferring),
        tuple(map(tuple, machine.starts)),
    )


class _Machine:
    """The state of all devices: their clocks, and how far they are in their lists."""

    def __init__(self, layout: BlockLayout, program: Program, transfer: Sequence[int]) -> None:
        devices = layout.devices
        self.layout, self.program, self.transfer = layout, program, transfer
        self.position = [0] * devices
        self.clock = [0] * devices
        # What was begun and is not over: the instruction, and when the device came to it.
        self.begun: list[list[tuple[Instruction, int]]] = [[] for _ in range(devices)]
        self.over = [0] * devices
        self.port_free = [0] * devices
        self.arrived: dict[tuple[int, int, int], int] = {}
        self.busy = [0] * devices
        self.transferring = [0] * devices
        self.last_end = [0] * devices
        self.starts: list[list[int]] = [[] for _ in range(devices)]

    def next_of(self, device: int) -> Instruction | None:
        items, at = self.program.devices[device], self.position[device]
        return items[at] if at < len(items) else None

    def advance(self, device: int) -> bool:
        """Execute as many instructions of a device as can be; return whether there were any."""
        has_moved = False
        while (item := self.next_of(device)) is not None and self._execute(device, item):
            has_moved = True
        while self._transfer_beside(device):
            has_moved = True
        return has_moved

    def check_that_all_is_done(self) -> None:
        stuck = [
            f"device {device} would {item or self.begun[device][self.over[device]][0]}"
            for device in range(self.layout.devices)
            if (item := self.next_of(device)) or self.over[device] < len(self.begun[device])
        ]
        if stuck:
            raise InvalidInputError(
                f"devices wait for each other for ever: {', '.join(stuck)}; "
                "expected lists in one common order."
            )

    def _execute(self, device: int, item: Instruction) -> bool:
        if isinstance(item, Run):
            return self._run(item)
        if isinstance(item, Wait):
            time = self.arrived.get((item.block, item.micro_batch, device))
            if time is None:
                return False
            self.clock[device] = max(self.clock[device], time)
            self.position[device] += 1
            return True
        if self.program.is_blocking:
            return self._transfer_alone(device, item)
        self.begun[device].append((item, self.clock[device]))
        self.position[device] += 1
        return True

    def _run(self, item: Run) -> bool:
        block = self.layout.blocks[item.block]
        if any(self.next_of(device) != item for device in block.devices):
            return False
        start = max(self.clock[device] for device in block.devices)
        for device in block.devices:
            self.starts[device].append(start)
            self.busy[device] += block.duration
            self.clock[device] = self.last_end[device] = start + block.duration
            self.position[device] += 1
        return True

    def _transfer_alone(self, device: int, item: Send | Receive) -> bool:
        peer, counterpart = _other_end(device, item)
        if self.next_of(peer) != counterpart:
            return False
        ticks = self.transfer[item.block]
        end = max(self.clock[device], self.clock[peer]) + ticks
        for both in (device, peer):
            self.transferring[both] += ticks
            self.clock[both] = end
            self.position[both] += 1
        return True

    def _transfer_beside(self, device: int) -> bool:
        """Carry out the next transfer that a device has begun, if its other end has begun it."""
        if self.over[device] == len(self.begun[device]):
            return False
        item, here = self.begun[device][self.over[device]]
        assert isinstance(item, Send | Receive)
        peer, counterpart = _other_end(device, item)
        if self.over[peer] == len(self.begun[peer]):
            return False
        found, there = self.begun[peer][self.over[peer]]
        if found != counterpart:
            return False
        start = max(here, there, self.port_free[device], self.port_free[peer])
        end = start + self.transfer[item.block]
        receiver = item.to if isinstance(item, Send) else device
        self.arrived[item.block, item.micro_batch, receiver] = end
        for both in (device, peer):
            self.port_free[both] = end
            self.over[both] += 1
        return True


def _other_end(device: int, item: Send | Receive) -> tuple[int, Instruction]:
    """Return the other device of a transfer, and its instruction."""
    if isinstance(item, Send):
        return item.to, Receive(item.block, item.micro_batch, device)
    return item.source, Send(item.block, item.micro_batch, device)
