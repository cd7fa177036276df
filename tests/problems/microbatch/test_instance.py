from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from brute_force_microbatch import instances, layout, optimal_makespan, optimal_period, v_shape
from hypothesis import given, settings
from selection import examples

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import (
    PROBLEM,
    Block,
    BlockLayout,
    MicrobatchInstance,
    Schedule,
)

V = v_shape()


def test_the_default_memory_is_twice_the_devices() -> None:
    """As in the targets: 2 D."""
    assert PROBLEM.instance(V, **PROBLEM.check_parameters({})).capacity == (4, 4)


def test_everything_that_matters_is_hashed() -> None:
    """Another memory, number of micro-batches, or layout is another instance."""
    sample = MicrobatchInstance.of(V, memory=2)
    others = [
        sample.with_parameters({"memory": 3}),
        sample.with_parameters({"micro_batches": 2}),
        MicrobatchInstance.of(v_shape(3), memory=2),
    ]
    assert len({sample.sha256, *(other.sha256 for other in others)}) == 4
    assert sample.with_parameters({}).sha256 == sample.sha256


def test_loads_count_blocks_on_several_devices_everywhere() -> None:
    """A sharded block is work for each of its devices."""
    sample = layout([("S", 2, 0, (0, 2)), ("F", 1, 0, (1,))], [], 4)
    assert sample.loads == (2, 1, 2, 0)
    assert sample.on_device == ((0,), (1,), (0,), ())


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda: layout([("A", 1, 0, (0,)), ("B", 1, 0, (0,))], [(0, 1), (1, 0)], 1),
            "the edges form a cycle, ",
        ),
        (
            lambda: layout([("F", 1, 1, (0,))], [], 1),
            r"leaves \+1 of memory on device 0; expected that its blocks release",
        ),
        (
            lambda: layout([("F", 1, -1, (0, 1)), ("B", 1, 1, (1,))], [], 2),
            "leaves -1 of memory on device 0",
        ),
        (
            lambda: MicrobatchInstance(V, (2, 0)),
            "'F1' needs 1 of memory on device 1, which has 0; expected a block that fits",
        ),
        (
            lambda: layout([("F", 1, 0, (2,))], [], 2),
            "'F' is on device 2; expected devices from 0 to 1",
        ),
        (lambda: layout([("F", 1, 0, (0,))], [(0, 1)], 1), "unknown node"),
        (lambda: layout([], [], 1), "has 0 blocks; expected 1 to"),
        (lambda: layout([("F", 1, 0, (0,))], [], 0), "devices is 0; expected 1 to"),
        (lambda: layout([("F", 0, 0, (0,))], [], 1), "duration of block 'F' is 0; expected"),
        (lambda: layout([("F", 1, 2**40, (0,))], [], 1), "memory of block 'F' is"),
        (lambda: layout([("F", 1, 0, ())], [], 1), r"devices of block 'F' are \[\]"),
        (lambda: layout([("F", 1, 0, (-1,))], [], 1), "devices of block 'F' are"),
        (lambda: Block("F", "sideways", 1, 0, (0,)), "kind of block 'F' is 'sideways'"),  # type: ignore[arg-type]
        (lambda: MicrobatchInstance(V, (2,)), "capacity has 1 values; expected one for each"),
        (lambda: MicrobatchInstance(V, (2, -1)), "capacity of device 1 is -1"),
        (lambda: MicrobatchInstance(V, (2, 2**53)), "expected a non-negative integer below 2.53"),
        (lambda: MicrobatchInstance(V, (2, 2), -1), "micro_batches is -1; expected 0"),
        (lambda: MicrobatchInstance(V, (2, 2), 2**17), "micro_batches is 131072"),
        (lambda: PROBLEM.check_parameters({"k": 3}), "k is no parameter of problem 'microbatch'"),
    ],
)
def test_bad_input_is_refused(make: Callable[[], Any], reason: str) -> None:
    """What cannot be scheduled is refused, with the field and what was expected."""
    with pytest.raises(InvalidInputError, match=reason):
        make()


def test_ticks_of_all_micro_batches_stay_exact_everywhere() -> None:
    """They add up to 2^53 at most, as the costs of other problems do."""
    layouts = [layout([("F", 2**32, 0, (0,))] * blocks, [], 1) for blocks in (2**5, 2**5 + 1)]
    last = MicrobatchInstance(layouts[0], (0,), 2**16)
    starts = 2**32 * np.arange(2**16 * 2**5).reshape(2**16, 2**5)
    assert last.objective(Schedule(starts)) == 2**53
    # The period is the time of one micro-batch.
    assert MicrobatchInstance(layouts[1], (0,)).micro_batches == 0
    expected = "blocks of 65536 micro-batches take 9.29e.15 ticks; expected at most 2.53, so use a"
    with pytest.raises(InvalidInputError, match=expected):
        MicrobatchInstance(layouts[1], (0,), 2**16)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("format", "boundmark-instance/2", "format is 'boundmark-instance/2'; expected"),
        ("duration", 3, "duration is not a list"),
        ("duration", [1], "differ in length"),
        ("device_sets", [0, 1, 1, 0], r"device_sets has 0; expected ascending device numbers"),
        ("edges", [[0]], "is not a pair of block numbers"),
        ("edges", [[0, 1], [1, 0]], "the edges form a cycle"),
        ("capacity", ["a", 2], "capacity of device 0 is 'a'"),
        ("micro_batches", None, "micro_batches is None"),
        ("kinds", ["forward", "forward", "backward", 3], "kind of block '3' is 3"),
    ],
)
def test_malformed_json_is_refused(field: str, value: Any, reason: str) -> None:
    """A file that breaks the format is refused, with the field."""
    document = {**MicrobatchInstance.of(V).to_json(), field: value}
    with pytest.raises(InvalidInputError, match=reason):
        MicrobatchInstance.from_json(document)
    del document[field]
    with pytest.raises(InvalidInputError, match=field):
        MicrobatchInstance.from_json(document)


def test_a_layout_needs_a_graph_of_its_blocks() -> None:
    """Blocks and graph belong together."""
    with pytest.raises(InvalidInputError, match="the graph has 4 nodes; expected one for each"):
        BlockLayout(V.blocks[:2], V.dag, 2)


@settings(max_examples=examples(30))
@given(instances((2,)))
def test_micro_batches_may_go_in_order(sample: MicrobatchInstance) -> None:
    """Each block can treat its micro-batches in order ([TESSEL24], Property IV.1)."""
    assert optimal_makespan(sample) == optimal_makespan(sample, in_order=False)


@pytest.mark.slow
@given(instances((0,)))
def test_a_period_is_between_the_load_and_the_makespan_of_one(sample: MicrobatchInstance) -> None:
    """One micro-batch after another is a schedule, and each device does all its work."""
    alone = optimal_makespan(sample.with_parameters({"micro_batches": 1}))
    assert max(sample.layout.loads) <= optimal_period(sample) <= alone


def test_known_optima() -> None:
    """By hand: with memory 1 micro-batches take turns, with 2 they fill the devices."""
    assert optimal_period(MicrobatchInstance.of(v_shape(), memory=1)) == 6
    assert optimal_period(MicrobatchInstance.of(v_shape(), memory=2)) == 3
    assert optimal_makespan(MicrobatchInstance.of(v_shape(), memory=2, micro_batches=3)) == 12
