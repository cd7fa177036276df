"""A process that executes the instruction list of one device."""

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from boundmark.benchmarks.microbatch.schedule_execution.collectives import (
    all_gather,
    all_reduce,
    meet,
)
from boundmark.benchmarks.microbatch.schedule_execution.network import (
    Array,
    Shard,
    backward_input,
    forward_input,
    shard,
)
from boundmark.benchmarks.microbatch.schedule_execution.roles import roles_of
from boundmark.benchmarks.microbatch.schedule_execution.transfers import (
    BackgroundTransfers,
    Key,
    receive,
    send,
)
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.runtime import Instruction, Receive, Run, Send, Wait


@dataclass(frozen=True)
class Task:
    """All that a device's process needs to know.

    Attributes
    ----------
    tick_seconds
        How long a tick takes: blocks last as long as in the schedule. 0 for as fast as can be.
    transfer
        Ticks that each block's result takes to travel, shape (K,).
    """

    device: int
    layout: BlockLayout
    instructions: tuple[Instruction, ...]
    is_blocking: bool
    seed: int
    tick_seconds: float
    transfer: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """The result of a device's process.

    Attributes
    ----------
    gradients
        Of its columns of each layer's weights, by forward block.
    runs
        Block, micro-batch, start and end of all that it ran, in seconds of the system's clock.
    """

    gradients: dict[int, Array]
    runs: list[tuple[int, int, float, float]]


def main(
    task: Task,
    transfers: Mapping[int, Connection],
    collectives: Mapping[int, Connection],
    position: Any,
    result: Connection,
    begin: Any,
) -> None:
    """Execute the list; send an `Outcome`, or a traceback.

    Parameters
    ----------
    position
        Shared array in which each device counts the instructions that it has done.
    begin
        Barrier at which all devices begin.
    """
    try:
        device = _Device(task, transfers, collectives)
        begin.wait()
        for item in task.instructions:
            device.execute(item)
            position[task.device] += 1
        result.send(device.finish())
    except Exception:
        result.send(traceback.format_exc())


class _Device:
    """Tensors and weights of a device."""

    def __init__(
        self,
        task: Task,
        transfers: Mapping[int, Connection],
        collectives: Mapping[int, Connection],
    ) -> None:
        self.task, self.transfers, self.collectives = task, transfers, collectives
        self.roles = roles_of(task.layout)
        self.results: dict[Key, Array] = {}
        self.runs: list[tuple[int, int, float, float]] = []
        self.background = None if task.is_blocking else BackgroundTransfers(transfers)
        self.shards: dict[int, Shard] = {}
        for i in task.layout.on_device[task.device]:
            devices = task.layout.blocks[i].devices
            if self.roles[i].kind == "forward":
                rank = devices.index(task.device)
                self.shards[i] = shard(i, task.seed, rank, len(devices))

    def execute(self, item: Instruction) -> None:
        key = (item.block, item.micro_batch)
        match item:
            case Run():
                self._run(item)
            case Wait():
                assert self.background is not None
                self.results[key] = self.background.wait(key)
            case Send():
                seconds = self.task.transfer[item.block] * self.task.tick_seconds
                if self.background is None:
                    send(self.transfers[item.to], key, self.results[key], seconds)
                else:
                    self.background.begin_send(item.to, key, self.results[key], seconds)
            case Receive():
                if self.background is None:
                    self.results[key] = receive(self.transfers[item.source], key)
                else:
                    self.background.begin_receive(item.source, key)

    def finish(self) -> Outcome:
        if self.background is not None:
            self.background.finish()
        return Outcome({i: layer.gradient for i, layer in self.shards.items()}, self.runs)

    def _run(self, item: Run) -> None:
        task, role = self.task, self.roles[item.block]
        block, number = task.layout.blocks[item.block], item.micro_batch
        meet(self.collectives, block.devices, task.device)
        started = time.monotonic()
        layer = self.shards[role.forward]
        inputs = [self.results[i, number] for i in role.inputs]
        if role.kind == "forward":
            part = layer.forward(number, forward_input(role.forward, number, task.seed, inputs))
            result = all_gather(self.collectives, block.devices, task.device, part)
            self.results[item.block, number] = result
        elif role.kind == "backward":
            output = self.results[role.forward, number]
            gradient = backward_input(role.forward, number, task.seed, inputs, output)
            part = layer.backward(number, gradient)
            result = all_reduce(self.collectives, block.devices, task.device, part)
            self.results[item.block, number] = result
        if role.computes_weights:
            layer.add_weights_gradient(number)
        time.sleep(max(0.0, started + block.duration * task.tick_seconds - time.monotonic()))
        self.runs.append((item.block, number, started, time.monotonic()))
