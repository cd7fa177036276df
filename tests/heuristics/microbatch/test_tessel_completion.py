"""Schedules from warm-up, repetend and cool-down."""

from brute_force_microbatch import layouts, v_shape
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import examples

from boundmark.heuristics.microbatch.repetend import RepetendSearch, TimedRepetend
from boundmark.heuristics.microbatch.tessel import complete, shorten
from boundmark.heuristics.microbatch.time_optimal import Find
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.schedule import check_for_every_count, makespan


@settings(max_examples=examples(15), deadline=None)
@given(sample=layouts(), micro_batches=st.integers(1, 3), data=st.data())
def test_schedules_hold_for_every_number(
    find: Find, sample: BlockLayout, micro_batches: int, data: st.DataObject
) -> None:
    """Whatever repetend is completed, each schedule is valid, and shorter than the one before."""
    largest = sum(max(0, block.memory) for block in sample.blocks)
    capacity = [data.draw(st.integers(largest, 2 * largest))] * sample.devices
    total = sum(block.duration for block in sample.blocks)
    period = data.draw(st.integers(max(sample.loads), total))
    _, repetend = RepetendSearch(sample, capacity).find(micro_batches, period, 10**6)
    completion = repetend and complete(sample, capacity, repetend, find)
    if not completion:
        return
    schedules = [completion.schedule, *shorten(completion, find)]
    for schedule in schedules:
        assert schedule.micro_batches == micro_batches
        check_for_every_count(sample, capacity, schedule)
    lengths = [makespan(sample, schedule.starts) for schedule in schedules]
    assert lengths == sorted(set(lengths), reverse=True)


def test_one_forward_one_backward(find: Find) -> None:
    """On two devices, it is as short as published: (N + D - 1) (forward + backward)."""
    sample = v_shape()
    repetend = TimedRepetend((1, 1, 1, 0), (0, 1, 2, 1), 3)
    completion = complete(sample, (2, 2), repetend, find)
    assert completion is not None
    *_, last = completion.schedule, *shorten(completion, find)
    assert makespan(sample, last.starts_for(5)) == 18


def test_memory_may_leave_no_warm_up(find: Find) -> None:
    """What each device holds at the entry is not all: the way there has to fit as well."""
    sample = v_shape()
    repetend = TimedRepetend((1, 1, 1, 0), (0, 1, 2, 1), 3)
    assert complete(sample, (0, 0), repetend, find) is None
