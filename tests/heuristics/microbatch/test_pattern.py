import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layouts import shape

from boundmark.datasets.microbatch.shapes import SHAPES, Costs
from boundmark.heuristics.microbatch.pattern import (
    Pattern,
    find_earliest_starts,
    fits,
    peak_memory,
    repeating_schedule,
    shortest_period,
)
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance


@st.composite
def patterns(draw: st.DrawFn) -> tuple[BlockLayout, Pattern]:
    """Draw the pattern of any schedule, not necessarily a good one."""
    costs = Costs(draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    layout = SHAPES[draw(st.sampled_from(["v", "x", "m", "nn", "interleaved"]))](3, costs)
    starts = [0] * len(layout.blocks)
    for i in layout.dag.topological_order.tolist():
        inputs = layout.dag.producers_of(i).tolist()
        done = max((starts[p] + layout.blocks[p].duration for p in inputs), default=0)
        starts[i] = done + draw(st.integers(0, 5))
    return layout, Pattern.of_starts(layout, starts, draw(st.integers(4, 12)))


def rate(layout: BlockLayout, pattern: Pattern) -> float:
    """Return the ticks a micro-batch takes in the long run when nothing is delayed."""
    starts = find_earliest_starts(layout, pattern.orders(1000), 1000)
    return float((starts[940] - starts[100]).max()) / 840


@pytest.mark.slow
@given(patterns())
def test_no_order_repeats_faster(drawn: tuple[BlockLayout, Pattern]) -> None:
    """The period is the long-run rate of the same order without a period, rounded up."""
    layout, pattern = drawn
    assert shortest_period(layout, pattern) == math.ceil(rate(layout, pattern) - 1e-9)


@given(patterns())
def test_schedule_is_right_for_any_number(drawn: tuple[BlockLayout, Pattern]) -> None:
    """What comes before and after the repetitions fits to any number of them."""
    layout, pattern = drawn
    schedule = repeating_schedule(layout, pattern)
    instance = MicrobatchInstance.of(layout, memory=1000)
    assert instance.objective(schedule) == shortest_period(layout, pattern)


@given(patterns())
def test_orders_are_those_of_the_schedule(drawn: tuple[BlockLayout, Pattern]) -> None:
    """Each device runs its blocks as the pattern says, also in longer schedules."""
    layout, pattern = drawn
    count = pattern.micro_batches + 3
    starts = repeating_schedule(layout, pattern).starts_for(count)
    for order in pattern.orders(count):
        times = [starts[number, block] for block, number in order]
        assert times == sorted(times)


def test_aligned_patterns_count_from_zero() -> None:
    """Whatever lags are given, inputs come first and the smallest lag is 0."""
    layout = shape("v-2-train").layout
    pattern = Pattern.aligned(layout, [[(0, 6), (3, 5)], [(1, -3), (2, -3)]])
    assert pattern == Pattern((((0, 1), (3, 0)), ((1, 0), (2, 0))))
    assert np.array_equal(pattern.lags, [1, 0, 0, 0])


@pytest.mark.parametrize(
    "turns",
    [
        [[(0, 0), (3, 1)], [(1, 0), (2, 0)]],
        [[(3, 0), (0, 0)], [(1, 0), (2, 0)]],
    ],
)
def test_patterns_that_cannot_be(turns: Sequence[Sequence[tuple[int, int]]]) -> None:
    """A device cannot run a backward block before the forward block of the micro-batch."""
    layout = shape("v-2-train").layout
    with pytest.raises(UnsupportedError, match="wait for each other"):
        repeating_schedule(layout, Pattern.aligned(layout, turns))


# Blocks of v-2-train: F0, F1, B1, B0.
F0, F1, B1, B0 = range(4)
V2 = shape("v-2-train").layout


def test_starts_by_hand() -> None:
    """Each block starts when its device is free and its inputs are done."""
    orders = [
        [(F0, 0), (F0, 1), (B0, 0), (B0, 1)],
        [(F1, 0), (B1, 0), (F1, 1), (B1, 1)],
    ]
    expected = [[0, 1, 2, 5], [1, 5, 6, 9]]
    assert find_earliest_starts(V2, orders, 2).tolist() == expected


def test_several_devices_start_together() -> None:
    """A block on all devices waits for the last one to be free."""
    layout = shape("m-2-train").layout
    everything = [
        [(i, number) for number in range(2) for i in range(6) if device in layout.blocks[i].devices]
        for device in range(2)
    ]
    starts = find_earliest_starts(layout, everything, 2)
    assert np.array_equal(starts[1], starts[0] + 10)


def test_deadlock_is_refused() -> None:
    """Devices that wait for each other are named, not waited for."""
    orders = [[(B0, 0), (F0, 0)], [(F1, 0), (B1, 0)]]
    with pytest.raises(UnsupportedError, match="device 0 waits for ever to run block 'B0'"):
        find_earliest_starts(V2, orders, 1)


def test_memory_counts_from_the_start_of_a_block() -> None:
    """A backward block releases before the next forward block allocates."""
    assert peak_memory(V2, [(F0, 0), (F0, 1), (B0, 0), (F0, 2)]) == 2
    assert peak_memory(V2, []) == 0
    orders = [[(F0, 0), (F0, 1), (B0, 0), (B0, 1)], [(F1, 0), (B1, 0), (F1, 1), (B1, 1)]]
    assert fits(shape("v-2-train", memory=2), orders)
    assert not fits(shape("v-2-train", memory=1), orders)
