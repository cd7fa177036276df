import dataclasses

import numpy as np
import pytest
from layouts import reported, shape

from boundmark.benchmarks.microbatch.execution import (
    Execution,
    ExecutionError,
    check,
    execute,
    weight_gradients,
)
from boundmark.problems.arrays import frozen
from boundmark.problems.catalog import methods
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.method import Method
from boundmark.problems.microbatch import Block, BlockLayout
from boundmark.problems.microbatch.runtime import Program, Receive, Run, Send, Wait, program_of

GPIPE, ONE_FORWARD_ONE_BACKWARD, ONE_FORWARD_ONE_BACKWARD_PLUS, ZB_H1 = (
    methods("microbatch")[name] for name in ("gpipe", "1f1b", "1f1b-plus", "zb-h1")
)

STARTS = frozen([[0, 1, 2, 5], [1, 5, 6, 9]])


@pytest.mark.slow
@pytest.mark.parametrize("is_blocking", [True, False])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        (ONE_FORWARD_ONE_BACKWARD, "v-3-train"),
        (ONE_FORWARD_ONE_BACKWARD_PLUS, "nn-3-train"),
        (ZB_H1, "split-3-train"),
        (GPIPE, "k-4-train"),
    ],
)
def test_processes_compute_what_one_process_does(
    method: Method, name: str, is_blocking: bool
) -> None:
    """Order, dependencies and gradients are right, with shared and split blocks too."""
    instance = shape(name, micro_batches=5)
    starts = reported(method, instance).starts
    program = program_of(instance.layout, starts, is_blocking=is_blocking)
    execution = execute(instance.layout, program)
    assert check(instance.layout, program, execution, 5) < 1e-9
    assert all(np.abs(gradient).max() > 0 for gradient in execution.gradients.values())


def test_deadlock_ends_with_a_sentence() -> None:
    """Devices that wait for each other are stopped, and it is said where they were."""
    layout = shape("v-2-infer").layout
    program = Program(((Run(0, 0), Wait(1, 0)), (Wait(0, 0), Run(1, 0))), is_blocking=False)
    with pytest.raises(ExecutionError, match="device 0 would wait for 1 of micro-batch 0, device"):
        execute(layout, program, timeout_seconds=2)


def test_lists_in_different_orders_are_found_out() -> None:
    """Two devices that both receive first do not take one for the other's tensor."""
    layout = shape("v-2-infer").layout
    lists = ((Receive(1, 0, 1), Run(0, 0)), (Receive(0, 0, 0), Run(1, 0)))
    with pytest.raises(ExecutionError, match=r"received \(., 0\); expected"):
        execute(layout, Program(lists, is_blocking=True))


def test_failures_of_a_process_are_told() -> None:
    """A device that is asked for something impossible says what."""
    layout = shape("v-2-infer").layout
    lists = ((Send(0, 0, 1),), (Receive(0, 0, 0),))
    with pytest.raises(ExecutionError, match=r"device 0 failed:(.|\n)*KeyError"):
        execute(layout, Program(lists, is_blocking=True))


def test_layouts_without_a_network_are_refused() -> None:
    """Nothing is started for a layout that cannot be trained."""
    layout = BlockLayout.from_blocks([Block("B", "backward", 1, 0, (0,))], [], 1)
    with pytest.raises(UnsupportedError, match="'B' has no forward block"):
        execute(layout, Program(((),), is_blocking=True))


def perfect() -> Execution:
    """Return what one would see if v-2-train had run as scheduled, a tick a second."""
    layout = shape("v-2-train").layout
    program = program_of(layout, STARTS)
    runs = tuple(
        tuple(
            (
                item.block,
                item.micro_batch,
                float(STARTS[item.micro_batch, item.block]),
                float(STARTS[item.micro_batch, item.block]) + layout.blocks[item.block].duration,
            )
            for item in items
            if isinstance(item, Run)
        )
        for items in program.devices
    )
    return Execution(weight_gradients(layout, 2, seed=1), runs)


def test_check_finds_what_is_wrong() -> None:
    """Another order, a block too early, and a wrong gradient do not pass."""
    layout = shape("v-2-train").layout
    program = program_of(layout, STARTS)
    good = perfect()
    assert check(layout, program, good, 2) == 0
    swapped = dataclasses.replace(good, runs=(good.runs[0][::-1], good.runs[1]))
    with pytest.raises(ExecutionError, match="device 0 did not run its blocks in the order"):
        check(layout, program, swapped, 2)
    first = (*good.runs[1][0][:2], 0.5, 2.0)
    early = dataclasses.replace(good, runs=(good.runs[0], (first, *good.runs[1][1:])))
    with pytest.raises(ExecutionError, match="'F1' of micro-batch 0 began before 'F0' was done"):
        check(layout, program, early, 2)
    wrong = dataclasses.replace(good, gradients={**good.gradients, 0: good.gradients[0] + 1e-3})
    with pytest.raises(ExecutionError, match=r"gradient of block 'F0' is off by 0\.001"):
        check(layout, program, wrong, 2)
