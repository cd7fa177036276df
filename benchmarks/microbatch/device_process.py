"""A process that executes the instruction list of one device."""

import queue
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from boundmark.benchmarks.microbatch.network import (
    Array,
    Shard,
    backward_input,
    forward_input,
    roles_of,
    shard,
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


def all_gather(
    connections: Mapping[int, Connection], devices: Sequence[int], device: int, part: Array
) -> Array:
    """Return the parts of all devices side by side, on each of them."""
    return _combined(
        connections, devices, device, part, lambda parts: np.concatenate(parts, axis=1)
    )


def all_reduce(
    connections: Mapping[int, Connection], devices: Sequence[int], device: int, part: Array
) -> Array:
    """Return the sum of the parts of all devices, on each of them."""
    return _combined(connections, devices, device, part, lambda parts: np.sum(parts, axis=0))


def meet(connections: Mapping[int, Connection], devices: Sequence[int], device: int) -> None:
    """Wait until all devices have called this."""
    _combined(connections, devices, device, np.zeros((0, 0)), lambda parts: parts[0])


def _combined(
    connections: Mapping[int, Connection],
    devices: Sequence[int],
    device: int,
    part: Array,
    combine: Callable[[list[Array]], Array],
) -> Array:
    if len(devices) == 1:
        return part
    first, *others = devices
    if device != first:
        connections[first].send(part)
        return connections[first].recv()  # type: ignore[no-any-return]
    whole = combine([part, *(connections[other].recv() for other in others)])
    for other in others:
        connections[other].send(whole)
    return whole


# Block and micro-batch that a tensor belongs to.
Key = tuple[int, int]


def send(connection: Connection, key: Key, tensor: Array, seconds: float) -> None:
    """Wait until the other end is ready for this tensor, and send it after some seconds."""
    wanted, _ = connection.recv()
    if wanted != key:
        raise RuntimeError(f"the other end is ready for {wanted}; expected {key}.")
    time.sleep(seconds)
    connection.send((key, tensor))


def receive(connection: Connection, key: Key) -> Array:
    """Say that this end is ready for a tensor, and wait for it."""
    connection.send((key, None))
    found, tensor = connection.recv()
    if found != key or tensor is None:
        raise RuntimeError(f"received {found}; expected {key}.")
    return tensor  # type: ignore[no-any-return]


class BackgroundTransfers:
    """A thread that sends and receives in the order in which it was asked to."""

    def __init__(self, connections: Mapping[int, Connection]) -> None:
        self._connections = connections
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._arrived: dict[Key, Array] = {}
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def begin_send(self, to: int, key: Key, tensor: Array, seconds: float) -> None:
        """Send a tensor when it is its turn."""
        self._jobs.put((send, self._connections[to], key, tensor, seconds))

    def begin_receive(self, source: int, key: Key) -> None:
        """Receive a tensor when it is its turn."""
        self._jobs.put((receive, self._connections[source], key))

    def wait(self, key: Key) -> Array:
        """Wait for a tensor to arrive, and return it."""
        with self._changed:
            self._changed.wait_for(lambda: key in self._arrived or self._failure is not None)
            if self._failure is not None:
                raise self._failure
            return self._arrived.pop(key)

    def finish(self) -> None:
        """Wait until everything is sent and received."""
        self._jobs.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                function, connection, key, *rest = job
                tensor = function(connection, key, *rest)
                if tensor is not None:
                    with self._changed:
                        self._arrived[key] = tensor
                        self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()
