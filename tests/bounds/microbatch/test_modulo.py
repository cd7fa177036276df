from typing import Any

import pytest
from brute_force_microbatch import instances, layout, optimum, v_shape
from hypothesis import given, settings
from modulo_search import decided, least_period
from other_process import call
from recording import record
from selection import examples

from boundmark.bounds.microbatch.modulo import completed
from boundmark.bounds.microbatch.steady_state import SteadyState, one_by_one, without_delay
from boundmark.datasets.microbatch import shapes
from boundmark.problems.arrays import frozen
from boundmark.problems.errors import UnsupportedError
from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance, Schedule
from boundmark.problems.microbatch.schedule import left_shifted, makespan, peak_memory

# Train and infer, the least memory with which the least period is the load of a device, and less.
PERIODS = [
    ("v-4-train", 6, 4),
    ("x-4-train", 6, 8),
    ("m-4-train", 6, 6),
    ("m-4-train", 4, 7),
    ("nn-4-train", 6, 8),
    ("nn-4-train", 4, 9),
    ("k-4-train", 6, 6),
    ("v-4-infer", 8, 1),
    ("x-4-infer", 8, 2),
    ("m-4-infer", 8, 2),
    ("nn-4-infer", 8, 3),
    ("k-4-infer", 8, 2),
]


@settings(max_examples=examples(60))
@given(instances())
def test_finds_and_proves_the_optimum(sample: MicrobatchInstance) -> None:
    """The last schedule is optimal and the last bound says so, with and without micro-batches."""
    best = optimum(sample)
    recorder = call(record, "modulo", sample)
    assert sample.objective(recorder.solutions[-1]) == best
    assert recorder.bounds[-1].bound == best


@settings(max_examples=examples(40))
@given(instances((0,)))
def test_a_variable_period_finds_the_same(sample: MicrobatchInstance) -> None:
    """The model for wide ranges of periods has the optimum of the search one by one."""
    longest = sum(block.duration for block in sample.layout.blocks)
    outcome = call(least_period, sample, longest)
    assert outcome.state is not None
    assert outcome.state.period == outcome.bound == optimum(sample)
    assert sample.objective(outcome.state.schedule) == outcome.bound


def test_what_waits_for_nothing_does_not_begin_before_the_micro_batch() -> None:
    """Leaving out idle periods moves blocks forward to the first period, and no further."""
    blocks = (
        Block("B0", "backward", 1, -2, (0,)),
        Block("F0", "forward", 1, 2, (0,)),
        Block("F1", "forward", 1, 2, (0,)),
        Block("B1", "backward", 1, -2, (0,)),
        Block("S0", "forward", 2, 0, (0,)),
    )
    sample = MicrobatchInstance(BlockLayout.from_blocks(blocks, [(1, 0), (1, 3), (2, 3)], 1), (6,))
    # B1 could come three periods earlier, as far as F0 is concerned, but F1 only one.
    late = without_delay(sample, SteadyState(6, (5, 0, 7, 20, 3)))
    assert min(late.stages) == 0
    assert sample.objective(late.schedule) == 6


@pytest.mark.parametrize(("member", "memory", "period"), PERIODS)
def test_shapes(member: str, memory: int, period: int) -> None:
    """The period is found, and proven, on the layouts of [TESSEL24]."""
    sample = MicrobatchInstance.of(shapes.load(member), memory=memory)
    recorder = call(record, "modulo", sample)
    assert sample.objective(recorder.solutions[-1]) == period
    assert recorder.bounds[-1].bound == period
    last: Any = recorder.solutions[-1]
    for count in (last.micro_batches, last.micro_batches + 1, 64):
        bound = sample.with_parameters({"micro_batches": count})
        assert bound.objective(last) == makespan(sample.layout, last.starts_for(count))


def test_periods_too_far_apart_to_try_one_by_one() -> None:
    """Real costs are nanoseconds, where the bound is no steady state's period."""
    sample = MicrobatchInstance.of(shapes.load("m-2-train-f1000-b3001-a5"), memory=10)
    recorder = call(record, "modulo", sample, seconds=10)
    best = sample.objective(recorder.solutions[-1])
    assert recorder.bounds[-1].bound <= best < 5000


def test_less_memory_is_found_at_the_same_period() -> None:
    """Among the schedules of the least period, the fullest device holds the least."""
    sample = MicrobatchInstance.of(shapes.load("v-4-train"), memory=8)
    outcome = call(decided, sample, 4, memory=True)
    assert outcome.state is not None
    starts = outcome.state.schedule.starts_for(16)
    # One micro-batch in flight a stage that is still to come, as in 1F1B.
    assert peak_memory(sample.layout, starts) == (4, 3, 2, 1)
    assert call(decided, sample.with_parameters({"memory": 3}), 4).verdict == "impossible"


def test_warm_up_and_cool_down_are_as_short_as_can_be() -> None:
    """A repetend that begins late for no reason loses its waiting time at both ends."""
    sample = MicrobatchInstance.of(v_shape(), memory=6)
    waiting = SteadyState(3, (0, 4, 8, 13))
    assert sample.objective(waiting.schedule) == 3
    better = call(completed, sample, waiting, 20, 1)
    assert sample.objective(better) == 3
    assert makespan(sample.layout, better.starts) < makespan(sample.layout, waiting.schedule.starts)
    # Without time, what there is has to do.
    same = call(completed, sample, waiting, 0, 1)
    assert same.to_json() == waiting.schedule.to_json()


@given(instances((2, 3)))
def test_left_shifted_is_a_schedule_and_no_longer(sample: MicrobatchInstance) -> None:
    """Starting earlier in the same order keeps all constraints."""
    state = one_by_one(sample)
    assert state is not None
    starts = state.expanded(sample.micro_batches).starts
    shifted = left_shifted(sample.layout, starts)
    assert (shifted <= starts).all()
    assert sample.objective(Schedule(shifted)) <= sample.objective(Schedule(starts))


def test_one_by_one_knows_when_memory_is_too_tight() -> None:
    """What two blocks allocate before the third releases it has to fit."""
    chain = layout([("F", 1, 3, (0,)), ("G", 1, 3, (0,)), ("B", 1, -6, (0,))], [(0, 1), (1, 2)], 1)
    assert one_by_one(MicrobatchInstance.of(chain, memory=5)) is None
    assert one_by_one(MicrobatchInstance.of(chain, memory=6)) == SteadyState(3, (0, 1, 2))
    with pytest.raises(UnsupportedError, match="no schedule keeps within the memory"):
        call(record, "modulo", MicrobatchInstance.of(chain, memory=5))


def test_releases_before_allocations() -> None:
    """Where a release waits for nothing, nothing is claimed that would need it to."""
    odd = layout([("F", 1, 1, (0,)), ("B", 1, -1, (0,))], [], 1)
    recorder = call(record, "modulo", MicrobatchInstance.of(odd, memory=1))
    assert [bound.bound for bound in recorder.bounds] == [2]
    assert recorder.solutions


def test_stages_tell_the_member() -> None:
    """What a stage further on runs belongs to an earlier micro-batch."""
    state = SteadyState(3, (0, 1, 2, 4))
    assert state.stages == (0, 0, 0, 1)
    assert state.schedule.starts.tolist() == frozen([[0, 1, 2, 4], [3, 4, 5, 7]]).tolist()
    assert state.schedule.repetend is not None
    assert state.schedule.repetend.members.tolist() == [1, 1, 1, 0]


def test_no_part_waits_for_whole_periods() -> None:
    """Blocks that a search leaves stages later than necessary come earlier, phases unchanged."""
    sample = MicrobatchInstance.of(shapes.load("m-4-infer"), memory=1)
    recorder = call(record, "modulo", sample)
    last: Any = recorder.solutions[-1]
    assert last.repetend.period == 2
    # Five ticks of one micro-batch take three periods, and no more than two to wait.
    assert last.micro_batches <= 5
