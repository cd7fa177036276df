import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from brute_force_microbatch import instances, layouts, steady_states, v_shape
from hypothesis import assume, given
from hypothesis import strategies as st
from layouts import shape

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import (
    Job,
    bubble_rate,
    check_schedule,
    counts_that_decide,
    earliest_starts,
    left_shifted,
    makespan,
    peak_memory,
    steady_bubble_rate,
)

V = v_shape()
# F0 F1 B1 B0 of two micro-batches, one forward and one backward (1F1B) with the period 3.
ONE_F_ONE_B = Schedule(frozen([[0, 1, 2, 4], [3, 4, 5, 7]]), Repetend(3, frozen([1, 1, 0, 0])))


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Draw schedules of any quality."""
    count, blocks = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 30), min_size=blocks, max_size=blocks)
    starts = draw(st.lists(row, min_size=count, max_size=count))
    members = draw(st.lists(st.integers(0, count - 1), min_size=blocks, max_size=blocks))
    repetend = st.none() | st.just(Repetend(draw(st.integers(1, 9)), frozen(members)))
    return Schedule(frozen(starts), draw(repetend))


@given(schedules(), st.integers(0, 5))
def test_expansion_block_by_block(schedule: Schedule, more: int) -> None:
    """Up to the member a block starts as given, then a period later each time, then the rest."""
    if schedule.repetend is None:
        return
    period = schedule.repetend.period
    expanded = schedule.starts_for(schedule.micro_batches + more)
    for block, member in enumerate(schedule.repetend.members.tolist()):
        column = schedule.starts[:, block].tolist()
        expected = [
            *column[:member],
            *(column[member] + r * period for r in range(more + 1)),
            *(start + more * period for start in column[member + 1 :]),
        ]
        assert expanded[:, block].tolist() == expected


def test_one_forward_one_backward() -> None:
    """The schedule everyone knows has period 3 on two devices, and one bubble in three ticks."""
    sample = MicrobatchInstance.of(V, memory=2)
    assert sample.objective(ONE_F_ONE_B) == 3
    assert MicrobatchInstance.of(V, memory=2, micro_batches=4).objective(ONE_F_ONE_B) == 15
    assert steady_bubble_rate(V, 3) == 0
    starts = ONE_F_ONE_B.starts_for(2)
    assert makespan(V, starts) == 9
    assert bubble_rate(V, starts) == Fraction(1, 3)
    assert peak_memory(V, starts) == (2, 1)


@given(schedules())
def test_peak_memory_tick_by_tick(schedule: Schedule) -> None:
    """What is held after the last start at or before a tick, over all ticks."""
    starts = np.resize(schedule.starts, (len(schedule.starts), 4))
    # A device starts one block at a time.
    starts = frozen(starts + 100 * np.arange(starts.size).reshape(starts.shape))
    for device, peak in enumerate(peak_memory(V, starts)):
        held = [
            sum(
                block.memory
                for row in starts
                for start, block in zip(row, V.blocks, strict=True)
                if start <= tick and device in block.devices
            )
            for tick in starts.ravel()
        ]
        assert peak == max(0, *held)


def test_numbers_that_it_is_not_for() -> None:
    """Fewer micro-batches than the repetend needs, or others than the given ones."""
    with pytest.raises(InvalidInputError, match="is for at least 2 micro-batches; expected one fo"):
        ONE_F_ONE_B.starts_for(1)
    with pytest.raises(InvalidInputError, match="is for at least 2 micro-batches"):
        MicrobatchInstance.of(V, micro_batches=1).objective(ONE_F_ONE_B)
    fixed = Schedule(ONE_F_ONE_B.starts)
    with pytest.raises(InvalidInputError, match="is for exactly 2 micro-batches; expected one for"):
        fixed.starts_for(3)
    with pytest.raises(InvalidInputError, match="has no repetend; expected one"):
        MicrobatchInstance.of(V).objective(fixed)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({}, "starts of the solution is not a table of integers"),
        ({"starts": []}, "expected \\(micro-batches, blocks\\)"),
        ({"starts": [[]]}, "expected \\(micro-batches, blocks\\)"),
        ({"starts": [[1], [1, 2]]}, "starts of the solution is not a table"),
        ({"starts": [[1.0]]}, "starts of the solution is not a table"),
        ({"starts": [[2**61]]}, "starts of the solution is not a table"),
        ({"starts": [[1]], "repetend": {"period": 1}}, "is not a period and the members"),
        ({"starts": [[1]], "repetend": {"period": 1, "members": [None]}}, "is not a period and"),
        ({"starts": [[1]], "repetend": {"period": 0, "members": [0]}}, "period of the repetend is"),
        ({"starts": [[1]], "repetend": {"period": "1", "members": [0]}}, "period of the repetend"),
        (
            {"starts": [[1]], "repetend": {"period": 1, "members": [1]}},
            "one of the 1 micro-batches",
        ),
        ({"starts": [[1]], "repetend": {"period": 1, "members": [0, 0]}}, "one of the 1 micro-bat"),
    ],
)
def test_malformed_schedules(document: dict[str, Any], reason: str) -> None:
    """Each is refused with what was expected."""
    with pytest.raises(InvalidInputError, match=reason):
        Schedule.from_json(document)


def least_starts(layout: BlockLayout, jobs: list[Job]) -> dict[Job, int]:
    """Raise start times from 0 until the order on each device and all dependencies are kept."""
    waits = [
        (first, second)
        for device in range(layout.devices)
        for first, second in itertools.pairwise(
            [job for job in jobs if device in layout.blocks[job[1]].devices]
        )
    ]
    waits += [
        ((number, producer), (number, i))
        for number, i in jobs
        for producer in layout.dag.producers_of(i).tolist()
        if (number, producer) in jobs
    ]
    starts = dict.fromkeys(jobs, 0)
    is_changing = True
    while is_changing:
        is_changing = False
        for first, second in waits:
            end = starts[first] + layout.blocks[first[1]].duration
            if starts[second] < end:
                starts[second] = end
                is_changing = True
    return starts


@st.composite
def sequences(draw: st.DrawFn) -> tuple[BlockLayout, list[Job]]:
    """Draw some jobs of up to 3 micro-batches, none before what it waits for."""
    layout = draw(layouts())
    order = layout.dag.topological_order.tolist()
    turns = draw(st.permutations([number for number in range(3) for _ in order]))
    position = [0, 0, 0]
    jobs = []
    for number in turns:
        jobs.append((number, order[position[number]]))
        position[number] += 1
    return layout, [job for job in jobs if draw(st.integers(0, 4))]


@given(sequences())
def test_no_job_could_start_earlier(sample: tuple[BlockLayout, list[Job]]) -> None:
    """The start times are the least ones that keep to the sequence, on whatever devices."""
    layout, jobs = sample
    assert earliest_starts(layout, jobs) == least_starts(layout, jobs)


def test_what_is_left_out_is_done() -> None:
    """Without its forward blocks, a backward block starts at once."""
    layout = shape("v-2-train").layout
    assert earliest_starts(layout, [(0, 2), (0, 3)]) == {(0, 2): 0, (0, 3): 3}


def test_left_shifting_keeps_the_order_on_each_device() -> None:
    """Gaps vanish, and what runs first stays first."""
    layout = shape("v-2-train").layout
    late = frozen([[5, 9, 20, 40], [7, 30, 50, 60]])
    assert left_shifted(layout, late).tolist() == [[0, 1, 2, 5], [1, 5, 6, 9]]


@pytest.mark.parametrize(
    ("starts", "capacity", "reason"),
    [
        ([[0, 1, 2, 4]], [1, 1], None),
        ([[0, 1, 2]], [1, 1], "has start times for 3 blocks; expected 4"),
        ([[-1, 1, 2, 4]], [1, 1], "a block starts at -1; expected no start before 0"),
        (
            [[0, 1, 2, 4], [4, 6, 7, 8]],
            [2, 2],
            "'B0' of micro-batch 1 starts at 8; expected the end of block 'B1' first, at 9",
        ),
        (
            [[0, 1, 2, 4], [1, 3, 5, 7]],
            [2, 2],
            "device 1 runs 'B1' of micro-batch 0 and 'F1' of micro-batch 1 at once, from 3",
        ),
        ([[0, 1, 2, 4], [1, 4, 5, 7]], [1, 1], "device 0 holds 2 from 1 on; expected at most 1"),
    ],
)
def test_each_constraint(starts: list[list[int]], capacity: list[int], reason: str | None) -> None:
    """A schedule that breaks one constraint is refused with that constraint."""
    if reason is None:
        check_schedule(V, capacity, frozen(starts))
        return
    with pytest.raises(InvalidInputError, match=reason):
        check_schedule(V, capacity, frozen(starts))


def test_memory_counts_from_the_start_of_a_block() -> None:
    """A backward block makes room when it starts, for what starts after it."""
    starts = frozen([[0, 1, 2, 4], [6, 7, 8, 10]])
    check_schedule(V, [1, 1], starts)
    with pytest.raises(InvalidInputError, match="device 0 holds 1 from 0 on"):
        check_schedule(V, [0, 1], starts)


def test_the_repetend_has_to_have_one_member_a_block() -> None:
    """A schedule of another layout is refused, not misread."""
    schedule = Schedule(frozen([[0, 1]]), Repetend(5, frozen([0, 0])))
    with pytest.raises(InvalidInputError, match="start times for 2 blocks; expected 4"):
        MicrobatchInstance.of(V).objective(schedule)


def test_a_schedule_of_a_million_periods_is_refused() -> None:
    """What would have to be checked for as many numbers of micro-batches, and never end."""
    schedule = Schedule(frozen([[0, 1, 2, 2**59]]), Repetend(6, frozen([0, 0, 0, 0])))
    with pytest.raises(InvalidInputError, match="for so many periods, which takes more than"):
        MicrobatchInstance.of(V).objective(schedule)


@st.composite
def scheduled_instances(draw: st.DrawFn) -> tuple[MicrobatchInstance, Schedule]:
    """Draw a steady state cut off at both ends, and at times disturb it."""
    sample = draw(instances((0, 2, 3)))
    period = max(sample.layout.loads) + draw(st.integers(0, 4))
    sigma = next(steady_states(sample, period), None)
    assume(sigma is not None)
    assert sigma is not None
    start = np.array(sigma)
    stages = (start // period).max() - start // period
    count = int(stages.max()) + draw(st.integers(1, 3))
    starts = start + period * np.arange(count)[:, None]
    for _ in range(draw(st.integers(0, 2))):
        number = draw(st.integers(0, count - 1))
        block = draw(st.integers(0, sample.nodes - 1))
        starts[number, block] = max(0, starts[number, block] + draw(st.integers(-3, 3)))
    return sample, Schedule(frozen(starts), Repetend(period, frozen(stages)))


@given(scheduled_instances())
def test_counts_that_decide(drawn: tuple[MicrobatchInstance, Schedule]) -> None:
    """A schedule that is right for these numbers of micro-batches is right for more."""
    sample, schedule = drawn
    layout = sample.layout
    decide = counts_that_decide(layout, schedule)
    for count in decide:
        try:
            check_schedule(layout, sample.capacity, schedule.starts_for(count))
        except InvalidInputError:
            return
    for count in [*range(decide.stop, decide.stop + 4), 64]:
        check_schedule(layout, sample.capacity, schedule.starts_for(count))
