"""Warm-up, cool-down, and all micro-batches at once."""

from brute_force_microbatch import instances, optimal_makespan, v_shape
from hypothesis import given, settings
from selection import examples

from boundmark.heuristics.microbatch.time_optimal import Find, Phase
from boundmark.problems.microbatch import MicrobatchInstance

MEMBERS = (2, 1, 1, 0)


def test_phases_of_a_repetend() -> None:
    """What a repetend has not, is before it or after it (Equations 5 and 6)."""
    sample = v_shape()
    before = Phase.warm_up(sample, (3, 3), MEMBERS)
    after = Phase.cool_down(sample, (3, 3), MEMBERS)
    assert before.jobs == ((0, 0), (0, 1), (0, 2), (1, 0))
    assert after.jobs == ((1, 3), (2, 1), (2, 2), (2, 3))
    assert before.room == (3, 3)
    # Device 0 has run three forward blocks and a backward one.
    assert after.room == (1, 3)


def test_blocks_of_one_kind_run_in_turn() -> None:
    """Property IV.1, and dependencies within a micro-batch."""
    before = Phase.warm_up(v_shape(), (3, 3), MEMBERS)
    assert before.orders == ((0, 1), (0, 3), (1, 2))


def test_earliest_starts_keep_the_order() -> None:
    """Idle time is taken out; device 0 still runs its blocks in the order given."""
    before = Phase.warm_up(v_shape(), (3, 3), MEMBERS)
    assert before.earliest([3, 7, 9, 20]) == [0, 1, 2, 1]


@settings(max_examples=examples(25), deadline=None)
@given(sample=instances(micro_batches=(1, 2)))
def test_the_search_ends_at_the_optimum(find: Find, sample: MicrobatchInstance) -> None:
    """Each bound is below the optimum, and the last start times reach it."""
    phase = Phase.whole(sample.layout, sample.capacity, sample.micro_batches)
    optimum = optimal_makespan(sample)
    assert phase.least_makespan <= optimum
    starts = phase.any_starts(find)
    assert starts is not None
    for better, bound in phase.improve(starts, find):
        assert bound <= optimum <= phase.makespan(better)
        starts = better
    assert phase.makespan(starts) == optimum


def test_an_empty_phase(find: Find) -> None:
    """A repetend of one micro-batch needs nothing before it."""
    phase = Phase.warm_up(v_shape(), (3, 3), (0, 0, 0, 0))
    assert phase.any_starts(find) == []
    assert list(phase.improve([], find)) == []
