"""TO of [TESSEL24]."""

import pytest
from brute_force_microbatch import instances, optimal_makespan, v_shape
from hypothesis import given, settings
from recording import record
from selection import examples

from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.microbatch import Block, BlockLayout, MicrobatchInstance


@settings(max_examples=examples(20), deadline=None)
@given(sample=instances(micro_batches=(1, 2)))
def test_bounds_meet_at_the_optimum(sample: MicrobatchInstance) -> None:
    """Solutions improve down to the optimum and claims up to it."""
    optimum = optimal_makespan(sample)
    for memory in ("timeline", "pairs"):
        recorder = record("time-optimal", sample, params={"memory": memory}, seconds=600)
        lengths = [sample.objective(solution) for solution in recorder.solutions]
        bounds = [claim.bound for claim in recorder.bounds]
        assert lengths == sorted(set(lengths), reverse=True)
        assert bounds == sorted(set(bounds))
        assert lengths[-1] == bounds[-1] == optimum


def test_memory_may_forbid_the_topological_order() -> None:
    """B releases before C allocates, although A, C, B, D would be an order as well."""
    blocks = [
        Block("A", "forward", 1, 1, (0,)),
        Block("C", "forward", 1, 1, (0,)),
        Block("B", "backward", 1, -1, (0,)),
        Block("D", "backward", 1, -1, (0,)),
    ]
    sample = MicrobatchInstance.of(
        BlockLayout.from_blocks(blocks, [(0, 2), (1, 3)], 1), memory=1, micro_batches=1
    )
    recorder = record("time-optimal", sample)
    assert [sample.objective(solution) for solution in recorder.solutions] == [4]


def test_no_schedule_fits() -> None:
    """B needs both A and C, which do not fit into the memory together."""
    blocks = [
        Block("A", "forward", 1, 1, (0,)),
        Block("C", "forward", 1, 1, (0,)),
        Block("B", "backward", 1, -2, (0,)),
    ]
    sample = MicrobatchInstance.of(
        BlockLayout.from_blocks(blocks, [(0, 2), (1, 2)], 1), memory=1, micro_batches=1
    )
    with pytest.raises(InvalidInputError, match="no schedule fits into the memory"):
        record("time-optimal", sample)


def test_the_number_of_micro_batches_must_be_given() -> None:
    """There is no makespan of any number of them."""
    with pytest.raises(UnsupportedError, match="micro_batches is 0"):
        record("time-optimal", MicrobatchInstance.of(v_shape()))


def test_a_spent_budget_ends_the_search() -> None:
    """What needs no search is reported all the same: one block after another."""
    sample = MicrobatchInstance.of(v_shape(), micro_batches=2)
    recorder = record("time-optimal", sample, seconds=0)
    assert [sample.objective(solution) for solution in recorder.solutions] == [12]
