"""Execute instruction lists, with one process per device."""

import itertools
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess

import numpy as np

from boundmark.benchmarks.microbatch.device_process import Outcome, Task, main
from boundmark.benchmarks.microbatch.network import (
    Array,
    backward_input,
    forward_input,
    roles_of,
    shard,
)
from boundmark.problems.errors import BoundmarkError
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.runtime import Program, Run


class ExecutionError(BoundmarkError):
    """Raised if processes did not execute their lists."""


@dataclass(frozen=True)
class Execution:
    """The outcomes of all processes.

    Attributes
    ----------
    gradients
        Of each layer's weights, by forward block, put together from the devices.
    runs
        For each device, block, micro-batch, start and end in seconds since the first start.
    """

    gradients: dict[int, Array]
    runs: tuple[tuple[tuple[int, int, float, float], ...], ...]

    @property
    def seconds(self) -> float:
        """Seconds from the start of the first block to the end of the last one."""
        return max((end for runs in self.runs for *_, end in runs), default=0.0)


def execute(
    layout: BlockLayout,
    program: Program,
    *,
    seed: int = 1,
    tick_seconds: float = 0.0,
    transfer: Sequence[int] | None = None,
    timeout_seconds: float = 60.0,
) -> Execution:
    """Start one process per device, let them execute the lists, and collect their outcomes.

    Parameters
    ----------
    tick_seconds
        How long a tick takes: then blocks and transfers last as long as they should. 0 for as fast
        as can be.
    transfer
        Ticks to move the result of each block, shape (K,); 0 by default.

    Raises
    ------
    UnsupportedError
        If the blocks of the layout do not pair up.
    ExecutionError
        If a process fails, or not all are done in time; it says where each of them is.
    """
    roles_of(layout)
    devices = layout.devices
    context = multiprocessing.get_context("spawn")
    transfers, collectives = (_all_pairs(context, devices) for _ in range(2))
    position, begin = context.Array("q", devices), context.Barrier(devices)
    processes: list[BaseProcess] = []
    results: list[Connection] = []
    for device in range(devices):
        receiver, sender = context.Pipe(duplex=False)
        task = Task(
            device,
            layout,
            program.devices[device],
            program.is_blocking,
            seed,
            tick_seconds,
            tuple(transfer or [0] * len(layout.blocks)),
        )
        processes.append(
            context.Process(
                target=main,
                args=(task, transfers[device], collectives[device], position, sender, begin),
                daemon=True,
            )
        )
        results.append(receiver)
    try:
        for process in processes:
            process.start()
        outcomes = _collected(
            processes, results, timeout_seconds, lambda: _where(program, position[:])
        )
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()
    return _together(layout, outcomes)


def check(
    layout: BlockLayout, program: Program, execution: Execution, micro_batches: int, seed: int = 1
) -> float:
    """Check what processes have done against a single process; return the largest difference.

    Raises
    ------
    ExecutionError
        If a device ran other blocks or in another order than its list says, a block began before
        what it needs was done, or a gradient is another one, rounding aside.
    """
    for device, (items, runs) in enumerate(zip(program.devices, execution.runs, strict=True)):
        wanted = [(item.block, item.micro_batch) for item in items if isinstance(item, Run)]
        if [(block, number) for block, number, *_ in runs] != wanted:
            raise ExecutionError(
                f"device {device} did not run its blocks in the order of its list."
            )
    _check_dependencies(layout, execution)
    expected = weight_gradients(layout, micro_batches, seed)
    difference = 0.0
    for layer, gradient in expected.items():
        difference = max(difference, float(np.abs(execution.gradients[layer] - gradient).max()))
        if not np.allclose(execution.gradients[layer], gradient, rtol=1e-9, atol=1e-9):
            raise ExecutionError(
                f"the gradient of block {layout.blocks[layer].name!r} is off by "
                f"{difference:.3g}; expected that of a single process."
            )
    return difference


def _check_dependencies(layout: BlockLayout, execution: Execution) -> None:
    begun: dict[tuple[int, int], float] = {}
    done: dict[tuple[int, int], float] = {}
    for runs in execution.runs:
        for block, number, start, end in runs:
            begun[block, number] = min(start, begun.get((block, number), start))
            # A device may go on as soon as its own part is done.
            done[block, number] = min(end, done.get((block, number), end))
    for (block, number), start in begun.items():
        for producer in layout.dag.producers_of(block).tolist():
            if start < done[producer, number]:
                raise ExecutionError(
                    f"block {layout.blocks[block].name!r} of micro-batch {number} began before "
                    f"{layout.blocks[producer].name!r} was done."
                )


def _all_pairs(context: SpawnContext, devices: int) -> list[dict[int, Connection]]:
    """Return for each device a connection to every other one."""
    ends: list[dict[int, Connection]] = [{} for _ in range(devices)]
    for first, second in itertools.combinations(range(devices), 2):
        ends[first][second], ends[second][first] = context.Pipe()
    return ends


def _collected(
    processes: Sequence[BaseProcess],
    results: Sequence[Connection],
    timeout_seconds: float,
    where: Callable[[], str],
) -> list[Outcome]:
    """Return what each process sends, in the order of devices."""
    deadline = time.monotonic() + timeout_seconds
    outcomes: dict[int, Outcome] = {}
    while len(outcomes) < len(processes):
        missing = [device for device in range(len(processes)) if device not in outcomes]
        ready = wait(
            [item for device in missing for item in (results[device], processes[device].sentinel)],
            timeout=max(0.0, deadline - time.monotonic()),
        )
        if not ready:
            raise ExecutionError(
                f"the devices were not done after {timeout_seconds:g} seconds: {where()}."
            )
        for device in missing:
            if results[device].poll():
                outcome = results[device].recv()
                if not isinstance(outcome, Outcome):
                    raise ExecutionError(f"device {device} failed:\n{outcome}")
                outcomes[device] = outcome
            elif not processes[device].is_alive():
                raise ExecutionError(
                    f"device {device} died with exit code {processes[device].exitcode}: {where()}."
                )
    return [outcomes[device] for device in range(len(processes))]


def _where(program: Program, position: Sequence[int]) -> str:
    """Return what each device is about to do."""
    return ", ".join(
        f"device {device} would {items[at]}" if at < len(items) else f"device {device} is done"
        for device, (items, at) in enumerate(zip(program.devices, position, strict=True))
    )


def _together(layout: BlockLayout, outcomes: Sequence[Outcome]) -> Execution:
    """Put the devices' columns of each gradient side by side; count time from the first start."""
    gradients = {
        i: np.concatenate([outcomes[device].gradients[i] for device in block.devices], axis=1)
        for i, block in enumerate(layout.blocks)
        if block.kind == "forward"
    }
    zero = min((run[2] for outcome in outcomes for run in outcome.runs), default=0.0)
    runs = tuple(
        tuple(
            (block, number, start - zero, end - zero) for block, number, start, end in outcome.runs
        )
        for outcome in outcomes
    )
    return Execution(gradients, runs)


def weight_gradients(layout: BlockLayout, micro_batches: int, seed: int) -> dict[int, Array]:
    """Return the gradient of each layer's weights, by forward block; zeros in inference.

    Raises
    ------
    UnsupportedError
        If the blocks of the layout do not pair up.
    """
    roles = roles_of(layout)
    layers = {i: shard(i, seed) for i, role in enumerate(roles) if role.kind == "forward"}
    for number in range(micro_batches):
        results: dict[int, Array] = {}
        for i in layout.dag.topological_order.tolist():
            role = roles[i]
            layer, inputs = layers[role.forward], [results[j] for j in role.inputs]
            if role.kind == "forward":
                results[i] = layer.forward(
                    number, forward_input(role.forward, number, seed, inputs)
                )
            elif role.kind == "backward":
                output = results[role.forward]
                gradient = backward_input(role.forward, number, seed, inputs, output)
                results[i] = layer.backward(number, gradient)
            if role.computes_weights:
                layer.add_weights_gradient(number)
    return {i: layer.gradient for i, layer in layers.items()}
