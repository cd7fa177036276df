import pytest
from brute_force_microbatch import instances, optimal_makespan, optimal_period, v_shape
from hypothesis import given, settings
from selection import examples

from boundmark.problems.microbatch import MicrobatchInstance


@settings(max_examples=examples(30))
@given(instances((2,)))
def test_micro_batches_may_go_in_order(sample: MicrobatchInstance) -> None:
    """Each block can treat its micro-batches in order ([TESSEL24], Property IV.1)."""
    assert optimal_makespan(sample) == optimal_makespan(sample, in_order=False)


@pytest.mark.slow
@given(instances((0,)))
def test_a_period_is_between_the_load_and_the_makespan_of_one(sample: MicrobatchInstance) -> None:
    """One micro-batch after another is a schedule, and each device does all its work."""
    alone = optimal_makespan(sample.with_parameters({"micro_batches": 1}))
    assert max(sample.layout.loads) <= optimal_period(sample) <= alone


def test_known_optima() -> None:
    """By hand: with memory 1 micro-batches take turns, with 2 they fill the devices."""
    assert optimal_period(MicrobatchInstance.of(v_shape(), memory=1)) == 6
    assert optimal_period(MicrobatchInstance.of(v_shape(), memory=2)) == 3
    assert optimal_makespan(MicrobatchInstance.of(v_shape(), memory=2, micro_batches=3)) == 12
