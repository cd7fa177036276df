import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from brute_force_microbatch import v_shape
from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import (
    bubble_rate,
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


@given(schedules())
def test_json_round_trip(schedule: Schedule) -> None:
    """A schedule is what its JSON says."""
    document = schedule.to_json()
    assert Schedule.from_json(json.loads(json.dumps(document))).to_json() == document


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
