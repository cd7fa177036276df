"""Instruction lists with which devices follow a schedule ([TESSEL24], Section IV-D), timed.

A block on several devices leaves its result on each of them; the time for that is part of its
duration. So a tensor travels to the devices of its consumers that have not run the producer, once
to each, from the producer's devices in turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from boundmark.problems.arrays import IntArray
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch.layout import BlockLayout


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


def program_of(layout: BlockLayout, starts: IntArray, *, is_blocking: bool = False) -> Program:
    """Return the instruction lists that follow a schedule's start times, shape (N, K).

    All blocks and transfers have one order, and each device has its part of it: a transfer comes
    when the block that produces the tensor ends, before what starts at that time. Both ends of a
    transfer are in the same order with all others, so nobody waits for ever ([TESSEL24],
    Section IV-D, "Topological sort").
    """
    routes = _routes(layout)
    # At equal times, transfers come first; what starts together is in order of numbers.
    events: list[tuple[int, bool, int, int, int, int]] = []
    for number, row in enumerate(starts.tolist()):
        for block, start in enumerate(row):
            events.append((start, True, number, block, -1, -1))
            end = start + layout.blocks[block].duration
            events += [(end, False, number, block, source, to) for source, to in routes[block]]
    lists: list[list[Instruction]] = [[] for _ in range(layout.devices)]
    for _, is_run, number, block, source, to in sorted(events):
        if is_run:
            for device in layout.blocks[block].devices:
                lists[device].append(Run(block, number))
        else:
            lists[source].append(Send(block, number, to))
            lists[to].append(Receive(block, number, source))
    if not is_blocking:
        lists = [_with_early_receives(items) for items in lists]
        lists = [_with_waits(layout, items) for items in lists]
    return Program(tuple(map(tuple, lists)), is_blocking)


def _routes(layout: BlockLayout) -> list[list[tuple[int, int]]]:
    """Return for each block the pairs (from, to) of devices between which its result travels."""
    routes = []
    for i, block in enumerate(layout.blocks):
        there = {
            device
            for consumer in layout.dag.consumers_of(i).tolist()
            for device in layout.blocks[consumer].devices
        }
        missing = sorted(there - set(block.devices))
        routes.append(
            [(block.devices[turn % len(block.devices)], to) for turn, to in enumerate(missing)]
        )
    return routes


def _with_early_receives(items: list[Instruction]) -> list[Instruction]:
    """Put each `Receive` right after the transfer before it: transfers keep their order."""
    early: list[Instruction] = []
    after_last_transfer = 0
    for item in items:
        if isinstance(item, Receive):
            early.insert(after_last_transfer, item)
            after_last_transfer += 1
        else:
            early.append(item)
            if isinstance(item, Send):
                after_last_transfer = len(early)
    return early


def _with_waits(layout: BlockLayout, items: list[Instruction]) -> list[Instruction]:
    """Put a `Wait` before the first block that needs a received tensor."""
    awaited: list[Instruction] = []
    pending: set[tuple[int, int]] = set()
    for item in items:
        if isinstance(item, Receive):
            pending.add((item.block, item.micro_batch))
        elif isinstance(item, Run):
            for producer in layout.dag.producers_of(item.block).tolist():
                if (producer, item.micro_batch) in pending:
                    pending.remove((producer, item.micro_batch))
                    awaited.append(Wait(producer, item.micro_batch))
        awaited.append(item)
    return awaited


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
