"""Repetends and their periods."""

import itertools

import pytest
from brute_force_microbatch import layout, layouts, v_shape
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.datasets.microbatch.shapes import load
from boundmark.heuristics.microbatch.repetend import (
    RepetendSearch,
    held_before,
    longest_path,
    period_of,
)
from boundmark.heuristics.microbatch.time_optimal import Find, Question
from boundmark.problems.dag import Dag
from boundmark.problems.microbatch import BlockLayout


def test_longest_path_counts_blocks() -> None:
    """Of two paths, the longer one."""
    assert longest_path(Dag.from_edges(5, [(0, 1), (1, 4), (0, 2), (2, 3), (3, 4)])) == 4


def test_memory_at_the_entry() -> None:
    """Device 0 has run 2 forward and 1 backward block, device 1 as many of both."""
    assert held_before(v_shape(), (2, 1, 1, 1)) == (1, 0)


def test_period_of_figure_6() -> None:
    """The next repetition starts when its dependencies are done, not when all of the first is."""
    sample = v_shape()
    # Device 0: F0 at 0, B0 at 3. Device 1: F1 at 1, B1 at 2, so it has time from 4 on.
    starts = (0, 1, 2, 4)
    assert period_of(sample, (0, 0, 0, 0), starts) == 6
    # B0 is of the micro-batch before: it need not wait, and devices do not idle.
    assert period_of(sample, (1, 0, 0, 0), (0, 0, 1, 3)) == 5
    assert period_of(sample, (1, 1, 1, 0), (0, 1, 2, 1)) == 3


def test_period_with_dependencies_over_several_repetitions() -> None:
    """What is needed two repetitions later may take two periods."""
    sample = layout([("A", 3, 0, (0,)), ("B", 1, 0, (1,))], [(0, 1)], 2)
    assert period_of(sample, (2, 0), (5, 0)) == 4
    assert period_of(sample, (1, 0), (5, 0)) == 8


def question(
    layout: BlockLayout, capacity: list[int], members: tuple[int, ...], period: int
) -> Question:
    """Ask Z3 for start times of a repetend with given micro-batches and period."""
    durations = tuple(layout.durations.tolist())
    lags = [
        (i, j, durations[i] - period * (members[i] - members[j]))
        for i, j in layout.dag.edge_pairs().tolist()
    ]
    pairs = {(i, j) for here in layout.on_device for i in here for j in here if i != j}
    lags += [(i, j, durations[i] - period) for i, j in sorted(pairs)]
    held = held_before(layout, members)
    return Question(
        durations,
        tuple(layout.memory.tolist()),
        layout.on_device,
        tuple(c - h for c, h in zip(capacity, held, strict=True)),
        tuple(lags),
        sum(durations),
    )


@settings(max_examples=examples(40), deadline=None)
@given(sample=layouts(), size=st.integers(1, 3), data=st.data())
def test_search_agrees_with_z3_about_every_assignment(
    find: Find, sample: BlockLayout, size: int, data: st.DataObject
) -> None:
    """There is a repetend if and only if Z3 finds start times for some micro-batches of blocks."""
    largest = sum(max(0, block.memory) for block in sample.blocks)
    capacity = [data.draw(st.integers(0, 2 * largest))] * sample.devices
    least = max(sample.loads)
    period = data.draw(st.integers(least, least + 3))
    possible = [
        members
        for members in itertools.product(range(size), repeat=len(sample.blocks))
        if min(members) == 0
        and max(members) == size - 1
        and all(members[i] >= members[j] for i, j in sample.dag.edge_pairs().tolist())
    ]
    assume(len(possible) < 100)
    verdict, found = RepetendSearch(sample, capacity).find(size, period, 10**6)
    exists = any(find(question(sample, capacity, members, period)) for members in possible)
    assert verdict == ("found" if exists else "refuted")
    if found is not None:
        assert found.members in possible
        assert found.period <= period
        asked = question(sample, capacity, found.members, found.period)
        assert min(asked.room) >= 0
        for i, j, ticks in asked.lags:
            assert found.starts[j] - found.starts[i] >= ticks
        for room, here in zip(asked.room, sample.on_device, strict=True):
            held = 0
            for i in sorted(here, key=found.starts.__getitem__):
                held += sample.blocks[i].memory
                assert held <= room


def test_a_search_may_end_undecided() -> None:
    """Three decisions do not even give each block a micro-batch."""
    search = RepetendSearch(load("m-4-train"), [6] * 4)
    assert search.find(6, 6, 3) == ("undecided", None)


@pytest.mark.parametrize(
    ("member", "memory", "size", "period"),
    [("m-4-train", 6, 6, 6), ("nn-4-train", 6, 6, 8), ("v-4-train", 4, 4, 4),
     ("m-4-train", 4, 5, 7), ("nn-4-train", 4, 5, 9)],
)  # fmt: skip
def test_fewest_micro_batches_for_the_shortest_period(
    member: str, memory: int, size: int, period: int
) -> None:
    """M and NN reach 0 % idle time with 6 micro-batches and V with 4 ([TESSEL24], Figure 11).

    With memory for four activations, the periods are the least ones, 7 and 9, which take five
    micro-batches: what keeps nothing on a device may be further apart.
    """
    layout = load(member)
    search = RepetendSearch(layout, [memory] * 4)
    for fewer in range(1, size):
        assert search.find(fewer, period, 10**6)[0] == "refuted"
    verdict, found = search.find(size, period, 10**6)
    assert verdict == "found"
    assert found is not None
    assert found.period == period
