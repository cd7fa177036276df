"""Algorithm 1 of [TESSEL24], and schedules from warm-up, repetend and cool-down."""

import pytest
from brute_force_microbatch import instances, layouts, optimal_period, v_shape
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import Recorder, record
from selection import examples

from boundmark.datasets.microbatch.shapes import load
from boundmark.heuristics.microbatch.repetend import RepetendSearch, TimedRepetend, longest_path
from boundmark.heuristics.microbatch.tessel import complete, shorten, shorter_repetends
from boundmark.heuristics.microbatch.time_optimal import Find
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.microbatch import BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import check_for_every_count, makespan


def last(recorder: Recorder) -> Schedule:
    """Return the schedule reported last."""
    schedule = recorder.solutions[-1]
    assert isinstance(schedule, Schedule)
    return schedule


@pytest.mark.parametrize(
    ("member", "repetend"),
    [("v-2-train", 2), ("v-3-train", 3), ("v-4-train", 4), ("x-2-train", 1), ("v-4-infer", 1)],
)
def test_zero_bubble_repetends(member: str, repetend: int) -> None:
    """With enough memory no device idles, from the published number of micro-batches on.

    V needs as many as devices ([TESSEL24], Figure 11). One is enough where repetitions overlap
    (Figure 6b), for inference and for two V's on two devices.
    """
    sample = MicrobatchInstance.of(load(member), memory=6)
    found = last(record("tessel", sample, params={"memory": "pairs"}, seconds=60))
    assert sample.objective(found) == max(sample.layout.loads)
    assert found.repetend is not None
    assert found.repetend.members.max() + 1 == found.micro_batches == repetend


@settings(max_examples=examples(15), deadline=None)
@given(sample=instances(micro_batches=(0,)))
def test_the_period_is_optimal_with_enough_micro_batches(sample: MicrobatchInstance) -> None:
    """Both encodings find the least period, lazily or not, and only valid schedules.

    Property IV.2 loses nothing: a time window of one period, cut out of any schedule that repeats,
    holds each block once, with numbers of micro-batches as the property asks for.
    """
    optimum = optimal_period(sample)
    for memory, lazy in (("timeline", True), ("pairs", True), ("pairs", False)):
        params = {"lazy": lazy, "memory": memory, "largest_repetend": sample.nodes}
        reported = record("tessel", sample, params=params, seconds=600).solutions
        periods = [sample.objective(schedule) for schedule in reported]
        assert periods == sorted(periods, reverse=True)
        assert periods[-1] == optimum


@pytest.mark.parametrize(
    ("member", "memory", "period"),
    [("m-8-train", 16, 6), ("nn-8-train", 16, 8), ("k-8-train", 8, 6), ("x-8-train", 8, 8)],
)
def test_no_device_idles_on_eight_devices(member: str, memory: int, period: int) -> None:
    """Repetends without idle time are found where there are billions of assignments."""
    sample = MicrobatchInstance.of(load(member), memory=memory)
    *_, last = shorter_repetends(sample, range(1, longest_path(sample.dag) + 1), Budget(60))
    assert last.period == period == max(sample.layout.loads)


def test_lazy_completion_changes_nothing_in_the_end() -> None:
    """Only the last repetend's warm-up and cool-down count (Section V)."""
    sample = MicrobatchInstance.of(v_shape(), memory=2)
    lazy, eager = (last(record("tessel", sample, params={"lazy": lazy})) for lazy in (True, False))
    assert lazy.to_json() == eager.to_json()


def test_only_one_size() -> None:
    """Figure 11 asks for repetends with a number of micro-batches, whatever smaller ones do."""
    sample = MicrobatchInstance.of(load("v-3-train"), memory=6)
    best = {}
    for size in (1, 2, 3, 4):
        found = last(record("tessel", sample, params={"only_repetend": size, "memory": "pairs"}))
        assert found.micro_batches == size
        best[size] = sample.objective(found)
    assert best == {1: 12, 2: 8, 3: 4, 4: 4}


def test_makespan_of_a_number_of_micro_batches() -> None:
    """With N given, only what shortens their makespan is reported, from repetends of at most N."""
    sample = MicrobatchInstance.of(v_shape(), memory=2, micro_batches=4)
    reported = record("tessel", sample).solutions
    lengths = [sample.objective(schedule) for schedule in reported]
    assert lengths == sorted(set(lengths), reverse=True)
    assert lengths[-1] == 15
    single = sample.with_parameters({"micro_batches": 1})
    assert makespan(sample.layout, last(record("tessel", single)).starts) == 6


def test_a_spent_budget_ends_the_search() -> None:
    """Nothing is reported, and nothing is raised."""
    sample = MicrobatchInstance.of(load("nn-4-train"))
    assert record("tessel", sample, seconds=0).solutions == []


@pytest.mark.parametrize("name", ["largest_repetend", "only_repetend"])
def test_negative_numbers_of_micro_batches(name: str) -> None:
    """The error names the parameter."""
    sample = MicrobatchInstance.of(v_shape())
    with pytest.raises(InvalidInputError, match=f"{name} is -1; expected a number"):
        record("tessel", sample, params={name: -1})


def test_a_repetend_of_more_micro_batches_than_there_are() -> None:
    """There is no schedule of 2 micro-batches around a repetend of 3."""
    sample = MicrobatchInstance.of(v_shape(), micro_batches=2)
    with pytest.raises(UnsupportedError, match="3 micro-batches is asked for; expected at most"):
        record("tessel", sample, params={"only_repetend": 3})


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
