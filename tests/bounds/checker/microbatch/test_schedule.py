"""Schedules of `microbatch` that just keep a constraint, or just break it, against definitions."""

import itertools
from typing import Any

import pytest
from brute_force_microbatch import layout, steady_states, v_shape
from checking import cost_or_reason
from definitions.microbatch import broken_constraint

from boundmark.bounds import checker
from boundmark.bounds.checker.microbatch.schedule import expanded
from boundmark.problems.microbatch import MicrobatchInstance

# F and B on a device each; what F allocates, B releases.
PAIR = layout([("F", 2, 1, (0,)), ("S", 1, 0, (1,)), ("B", 2, -1, (0,))], [(0, 1), (1, 2)], 2)


def value(sample: MicrobatchInstance, starts: Any, repetend: Any = None) -> int | str:
    """Return what a schedule costs by the checker, or why it is none."""
    return cost_or_reason(sample, {"starts": starts, "repetend": repetend})


def breaks(sample: MicrobatchInstance, starts: list[list[int]]) -> bool:
    """Whether a schedule breaks a constraint, tick by tick."""
    return bool(broken_constraint(sample, starts))


def test_memory_is_counted_when_blocks_start() -> None:
    """Two micro-batches overlap with room for two, and must not with room for one."""
    # The first B begins as the second F ends.
    both = [[0, 2, 4], [2, 4, 6]]
    for memory, expected in ((2, 8), (1, "a device holds more than its capacity")):
        sample = MicrobatchInstance.of(PAIR, memory=memory, micro_batches=2)
        assert value(sample, both) == expected


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ([[0, 2, 3]], 5),
        ([[0, 1, 3]], "a block starts before what it waits for is done"),
        ([[0, 2, 2]], "a block starts before what it waits for is done"),
        ([[0, 3, 4]], 6),
        ([[1, 3, 4]], 6),
        ([], "not a list of 1 to"),
        ({}, "not a list of 1 to"),
        ([[0, 2]], "one entry for each block"),
        ([[0, 2, 3, 4]], "one entry for each block"),
        ([[-1, 2, 3]], "starts of the solution is not an integer from 0"),
        ([[0, 2, 3], [5, 7, 8]], "is not for 1 micro-batches"),
    ],
)
def test_one_micro_batch(starts: Any, expected: int | str) -> None:
    """The end of the last block counts."""
    found = value(MicrobatchInstance.of(PAIR, memory=1, micro_batches=1), starts)
    assert found == expected or (isinstance(found, str) and str(expected) in found)


def test_repetition_by_hand() -> None:
    """A block of member m is repeated from micro-batch m on, until enough have been added."""
    starts = [[0, 1], [2, 5]]
    assert expanded(starts, 3, [0, 1], 2) == starts
    assert expanded(starts, 3, [0, 1], 4) == [[0, 1], [3, 5], [6, 8], [8, 11]]
    for period, count in ((0, 3), (3, 1), (0, 1)):
        with pytest.raises(checker.Rejected, match=f"is not for {count} micro-batches"):
            expanded(starts, period, [0, 1], count)
    assert expanded(starts, 0, [0, 1], 2) == starts


@pytest.mark.parametrize(
    ("repetend", "expected"),
    [
        (None, "has no repetend"),
        ({"period": 4, "members": [0, 0, 0]}, "a device runs two blocks at once"),
        ({"period": 5, "members": [0, 0, 0]}, 5),
        ({"period": 6, "members": [0, 0, 0]}, 6),
        ({"period": 0, "members": [0, 0, 0]}, "period of the repetend is not an integer from 1"),
        ({"period": 5, "members": [0, 0, 1]}, "members of the repetend is not an integer from 0"),
        ({"period": 5, "members": [0, 0]}, "not one for each block"),
        ({"period": 5}, "it lacks members"),
    ],
)
def test_periods_of_one_after_another(repetend: Any, expected: int | str) -> None:
    """A micro-batch of 5 ticks can be repeated every 5 ticks, and not sooner if it fills them."""
    sample = MicrobatchInstance.of(PAIR, memory=1)
    found = value(sample, [[0, 2, 3]], repetend)
    assert found == expected or (isinstance(found, str) and str(expected) in found)


def test_periods_that_fail_late() -> None:
    """Each repetition holds a unit more: only later ones exceed the capacity."""
    # B of the micro-batch before is repeated, and its own comes at the end only.
    leak = layout([("F", 1, 1, (0,)), ("B", 1, -1, (0,))], [(0, 1)], 1)
    for memory in (1, 2, 3):
        sample = MicrobatchInstance.of(leak, memory=memory)
        starts = [[2 * i, 2 * i + 2 * memory - 1] for i in range(memory)]
        good = {"period": 2, "members": [0] * 2}
        if memory == 1:
            assert value(sample, starts, good) == 2
        starts = [[i, memory + 2 * i] for i in range(memory)]
        found = value(sample, starts, {"period": 1, "members": [memory - 1, 0]})
        assert isinstance(found, str)


@pytest.mark.parametrize("period", [5, 6])
def test_steady_states_are_schedules(period: int) -> None:
    """What repeats for ever by definition is accepted once its begin and end are cut off."""
    sample = MicrobatchInstance.of(v_shape(), memory=2)
    tried = 0
    for sigma in itertools.islice(steady_states(sample, period), 0, 400, 40):
        shift = min(sigma)
        offsets = [start - shift for start in sigma]
        members = [start // period for start in offsets]
        count = max(members) + 1
        starts = [[start + i * period for start in offsets] for i in range(count)]
        # A block of a late stage is repeated from an early micro-batch on.
        repeated = [count - 1 - member for member in members]
        found = value(sample, starts, {"period": period, "members": repeated})
        assert found == period or breaks(
            sample, expanded(starts, period, repeated, count + 3 * count)
        )
        tried += 1
    assert tried


@pytest.mark.parametrize("repetitions", [3, 4, 9])
def test_warm_up_that_is_run_into_after_a_while(repetitions: int) -> None:
    """A block of the first micro-batch waits where, after some repetitions, another one runs."""
    free = layout([("F", 1, 0, (0,)), ("S", 1, 0, (0,))], [], 1)
    sample = MicrobatchInstance.of(free, memory=1)
    late = 2 * repetitions
    # F is repeated from the first micro-batch on, at 0, 2, 4, ...; S only from the second one on.
    starts, members = [[0, late], [1, late + 1]], [0, 1]
    found = value(sample, starts, {"period": 2, "members": members})
    assert found == "a device runs two blocks at once, or one before 0"
    for count in range(2, 2 + repetitions):
        assert not breaks(sample, expanded(starts, 2, members, count))
    assert breaks(sample, expanded(starts, 2, members, 2 + repetitions))


def test_one_repetition_may_be_the_only_one_that_fails() -> None:
    """What ends a plan with one repetition runs into its warm-up; with more it comes later."""
    pair = layout([("F", 1, 0, (0,)), ("S", 1, 0, (0,))], [(0, 1)], 1)
    sample = MicrobatchInstance.of(pair, memory=1)
    starts, members = [[0, 4], [1, 5]], [0, 1]
    for count in range(2, 9):
        assert breaks(sample, expanded(starts, 3, members, count)) == (count == 3)
    found = value(sample, starts, {"period": 3, "members": members})
    assert found == "a device runs two blocks at once, or one before 0"


def test_each_row_has_all_blocks() -> None:
    """One row that is too short, or too long, is one too many."""
    sample = MicrobatchInstance.of(PAIR, memory=1, micro_batches=2)
    for row in ([5, 7], [5, 7, 8, 9]):
        assert "one entry for each block" in str(value(sample, [[0, 2, 3], row]))
