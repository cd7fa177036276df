from typing import Any

import numpy as np
import pytest
from brute_force_microbatch import instances, steady_states, v_shape
from hypothesis import assume, given
from hypothesis import strategies as st

from boundmark.bounds import checker
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.microbatch import MicrobatchInstance, Repetend, Schedule
from boundmark.problems.microbatch.schedule import check_schedule, counts_that_decide
from boundmark.problems.problem import solution_document

V = v_shape()


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
def schedules(draw: st.DrawFn) -> tuple[MicrobatchInstance, Schedule]:
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


def verdict(sample: MicrobatchInstance, schedule: Schedule) -> int | None:
    """Return the objective by the data model, None if it is refused."""
    try:
        return sample.objective(schedule)
    except InvalidInputError:
        return None


@given(schedules())
def test_data_model_and_checker_agree(drawn: tuple[MicrobatchInstance, Schedule]) -> None:
    """Both accept the same schedules, with the same objective."""
    sample, schedule = drawn
    objective = verdict(sample, schedule)
    document: Any = solution_document(sample, schedule, objective or 0)
    if objective is None:
        with pytest.raises(checker.Rejected):
            checker.check_solution(sample.to_json(), document)
    else:
        assert checker.check_solution(sample.to_json(), document) == objective


@given(schedules())
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
