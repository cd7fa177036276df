"""The stages of a pipeline in a layout, micro-batches in flight, and orders of several pipelines.

Orders of several pipelines and of distributed blocks are merged into one per device. A distributed
block runs on several devices together.
"""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from boundmark.heuristics.microbatch.pattern import DeviceOrders, Pattern, peak_memory
from boundmark.problems.arrays import IntArray, frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance
from boundmark.problems.microbatch.layout import backward_partners, forward_partners


def merge_orders(
    layout: BlockLayout, parts: Sequence[DeviceOrders], micro_batches: int
) -> tuple[DeviceOrders, IntArray]:
    """Merge orders into one per device; return these and the start times, shape (N, K).

    A distributed block is due as soon as what it waits for is done, and, if it waits for nothing,
    as soon as it is the turn of a block that needs it. From then on, its devices begin nothing
    else. Other blocks start as early as the orders let them; if it is the turn of several on a
    device, backward blocks come first, then earlier micro-batches.
    """
    simulation = _Simulation(layout, parts, micro_batches)
    now = 0
    while simulation.left:
        while simulation.start_blocks(now):
            pass
        later = [free for free in simulation.free if free > now]
        if not later and simulation.left:
            raise UnsupportedError("devices would wait for each other for ever with this order.")
        now = min(later, default=now)
    return simulation.orders, frozen(simulation.starts)


class _Turn(NamedTuple):
    """The next block of a part on a device; of several, the least one goes first."""

    is_forward: bool
    micro_batch: int
    block: int
    part: int


class _Simulation:
    """Simulate all devices; the end of a block that has not started is -1."""

    def __init__(
        self, layout: BlockLayout, parts: Sequence[DeviceOrders], micro_batches: int
    ) -> None:
        self.layout, self.parts, self.micro_batches = layout, parts, micro_batches
        size = layout.dag.nodes
        self.left = size * micro_batches
        self.starts = [[0] * size for _ in range(micro_batches)]
        self.ends = [[-1] * size for _ in range(micro_batches)]
        self.free = [0] * layout.devices
        self.orders: list[list[tuple[int, int]]] = [[] for _ in range(layout.devices)]
        self.position = [[0] * layout.devices for _ in parts]
        self.producers = [layout.dag.producers_of(i).tolist() for i in range(size)]
        self.consumers = [layout.dag.consumers_of(i).tolist() for i in range(size)]
        self.next_number = {i: 0 for i, block in enumerate(layout.blocks) if len(block.devices) > 1}

    def start_blocks(self, now: int) -> bool:
        """Start the blocks that can start at this time; return whether any did."""
        has_started = False
        reserved: set[int] = set()
        due = [(number, i) for i, number in self.next_number.items() if self._is_due(i, now)]
        for number, i in sorted(due):
            devices = self.layout.blocks[i].devices
            if reserved.isdisjoint(devices) and all(self.free[d] <= now for d in devices):
                self.next_number[i] += 1
                self._start(i, number, now)
                has_started = True
            reserved.update(devices)
        for device, free in enumerate(self.free):
            if device in reserved or free > now:
                continue
            ready = [
                turn
                for turn in self._turns(device)
                if self._has_inputs(turn.block, turn.micro_batch, now)
            ]
            if ready:
                first = min(ready)
                self.position[first.part][device] += 1
                self._start(first.block, first.micro_batch, now)
                has_started = True
        return has_started

    def _start(self, i: int, number: int, now: int) -> None:
        block = self.layout.blocks[i]
        self.starts[number][i] = now
        self.ends[number][i] = now + block.duration
        self.left -= 1
        for device in block.devices:
            self.free[device] = now + block.duration
            self.orders[device].append((i, number))

    def _turns(self, device: int) -> list[_Turn]:
        """Return the next block on a device of each part that has one."""
        turns = []
        for part, orders in enumerate(self.parts):
            order, at = orders[device], self.position[part][device]
            if at < len(order):
                i, number = order[at]
                is_forward = self.layout.blocks[i].kind == "forward"
                turns.append(_Turn(is_forward, number, i, part))
        return turns

    def _is_due(self, i: int, now: int) -> bool:
        number = self.next_number[i]
        if number == self.micro_batches or not self._has_inputs(i, number, now):
            return False
        return bool(self.producers[i]) or self._is_wanted(i, number, now)

    def _has_inputs(self, i: int, number: int, now: int) -> bool:
        return all(0 <= self.ends[number][producer] <= now for producer in self.producers[i])

    def _is_wanted(self, i: int, number: int, now: int) -> bool:
        """Whether the next block on some device needs the result."""
        for consumer in self.consumers[i]:
            if consumer in self.next_number:
                if self._is_wanted(consumer, number, now):
                    return True
                continue
            (device,) = self.layout.blocks[consumer].devices
            turns = [(turn.block, turn.micro_batch) for turn in self._turns(device)]
            if self.free[device] <= now and (consumer, number) in turns:
                return True
        return not self.consumers[i]


def has_chain(layout: BlockLayout, blocks: Sequence[int]) -> bool:
    """Whether each block needs the one before, directly or through distributed blocks alone."""
    return all(_reaches(layout, first, second) for first, second in itertools.pairwise(blocks))


def _reaches(layout: BlockLayout, first: int, second: int) -> bool:
    waiting, seen = [first], {first}
    while waiting:
        for consumer in layout.dag.consumers_of(waiting.pop()).tolist():
            if consumer == second:
                return True
            if consumer not in seen and len(layout.blocks[consumer].devices) > 1:
                seen.add(consumer)
                waiting.append(consumer)
    return False


@dataclass(frozen=True)
class Stage:
    """A forward block, and its backward and weight blocks on the same device if it has any."""

    device: int
    forward: int
    backward: int | None
    weight: int | None

    @property
    def is_training(self) -> bool:
        """Whether there is a backward block."""
        return self.backward is not None


def find_stages(layout: BlockLayout, among: Collection[int] | None = None) -> tuple[Stage, ...]:
    """Return the stages in the order in which data flows forward."""
    chosen = set(range(len(layout.blocks)) if among is None else among)
    for i in sorted(chosen):
        block = layout.blocks[i]
        if len(block.devices) > 1:
            raise UnsupportedError(
                f"block {block.name!r} is on {len(block.devices)} devices; "
                "expected stages on one device each."
            )
    backward_of = {forward: i for i, forward in forward_partners(layout).items()}
    weight_of = {backward: i for i, backward in backward_partners(layout).items()}
    stages = []
    for i in layout.dag.topological_order.tolist():
        block = layout.blocks[i]
        if i in chosen and block.kind == "forward":
            backward = backward_of.get(i)
            weight = None if backward is None else weight_of.get(backward)
            stages.append(Stage(block.devices[0], i, backward, weight))
    found = [i for s in stages for i in (s.forward, s.backward, s.weight) if i is not None]
    if set(found) != chosen or len(found) != len(chosen):
        stray = layout.blocks[min(chosen - set(found), default=min(chosen))].name
        raise UnsupportedError(
            f"block {stray!r} belongs to no stage; expected a forward block on the same device, "
            "and the same number of both."
        )
    if not stages or len({stage.is_training for stage in stages}) != 1:
        raise UnsupportedError("some stages have no backward block; expected all or none to have.")
    return tuple(stages)


def forward_blocks(stages: Sequence[Stage]) -> list[int]:
    """Return the forward blocks in the order in which data reaches them."""
    return [stage.forward for stage in stages]


def backward_blocks(stages: Sequence[Stage]) -> list[int]:
    """Return the backward blocks in the order in which gradients reach them."""
    return [stage.backward for stage in reversed(stages) if stage.backward is not None]


def require_one_stage_per_device(stages: Sequence[Stage]) -> None:
    """Refuse stages that share a device."""
    devices = [stage.device for stage in stages]
    for device in devices:
        if devices.count(device) > 1:
            raise UnsupportedError(
                f"device {device} has {devices.count(device)} stages; expected one per device."
            )


def count_fitting(instance: MicrobatchInstance, stage: Stage, most: int) -> int:
    """Return how many forward blocks of a stage may run before the first backward block."""
    capacity = instance.capacity[stage.device]
    for count in range(most, 0, -1):
        turns = [(i, 0) for i in (stage.backward, stage.weight) if i is not None]
        order = [(stage.forward, number) for number in range(count)] + turns
        if peak_memory(instance.layout, order) <= capacity:
            return count
    raise UnsupportedError(
        f"a micro-batch does not fit on device {stage.device}, which has {capacity} of memory."
    )


def count_in_flight(
    instance: MicrobatchInstance, stages: Sequence[Stage], limit: int | None = None
) -> list[int]:
    """Return how many micro-batches each stage has in flight: S for the first, 1 for the last one.

    There are fewer if memory or `limit` asks for it. The time that a micro-batch stays in a stage
    falls from the first stage to the last one, and so do the counts, in proportion.
    """
    size = len(stages)
    for first in range(min(size, limit or size), 0, -1):
        counts = [-(-first * (size - number) // size) for number in range(size)]
        if all(
            count <= count_fitting(instance, stage, count)
            for stage, count in zip(stages, counts, strict=True)
        ):
            break
    return counts


def stage_turns(stage: Stage, in_flight: int) -> list[tuple[int, int]]:
    """Return the turns of a stage's device, pairs (block, lag): forward, then any backward."""
    if stage.backward is None:
        return [(stage.forward, 0)]
    return [(stage.forward, in_flight - 1), (stage.backward, 0)]


def order_stages_alone(
    layout: BlockLayout, stages: Sequence[Stage], in_flight: Sequence[int], micro_batches: int
) -> DeviceOrders:
    """Return the 1F1B orders of the stages' own blocks, as if there were no others."""
    orders: list[Sequence[tuple[int, int]]] = [()] * layout.devices
    for stage, count in zip(stages, in_flight, strict=True):
        alone = Pattern((tuple(stage_turns(stage, count)),))
        (orders[stage.device],) = alone.orders(micro_batches)
    return orders
