"""TO of [TESSEL24]."""

import itertools
from dataclasses import replace

import pytest
from brute_force_microbatch import instances, optimal_makespan, v_shape
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import record
from selection import examples

from boundmark.heuristics.microbatch.time_optimal import (
    LONGEST_TIMELINE,
    Find,
    OutOfTimeError,
    Phase,
    Question,
    finder,
)
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget
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


# Two jobs on a device that holds the result of one of them at a time, and who takes it over.
SAMPLE = Question(
    durations=(1, 1, 2),
    memory=(1, 1, -1),
    on_device=((0, 1, 2),),
    room=(1,),
    lags=((0, 2, 1),),
    horizon=4,
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Draw questions about up to 3 jobs on up to 2 devices."""
    jobs = draw(st.integers(1, 3))
    devices = draw(st.integers(1, 2))
    each = range(jobs)
    lags = draw(
        st.lists(
            st.tuples(st.sampled_from(each), st.sampled_from(each), st.integers(-3, 3)).filter(
                lambda lag: lag[0] != lag[1]
            ),
            max_size=3,
        )
    )
    return Question(
        durations=tuple(draw(st.integers(1, 3)) for _ in each),
        memory=tuple(draw(st.integers(-2, 2)) for _ in each),
        on_device=tuple(
            tuple(i for i in each if draw(st.booleans()) or devices == 1) for _ in range(devices)
        ),
        room=tuple(draw(st.integers(-1, 2)) for _ in range(devices)),
        lags=tuple(lags),
        horizon=draw(st.integers(3, 6)),
    )


def answers(question: Question, starts: tuple[int, ...]) -> bool:
    """Whether start times keep the constraints, by their definition."""
    ends = [start + duration for start, duration in zip(starts, question.durations, strict=True)]
    if min(starts) < 0 or max(ends) > question.horizon or min(question.room) < 0:
        return False
    if any(starts[j] < starts[i] + ticks for i, j, ticks in question.lags):
        return False
    for here, room in zip(question.on_device, question.room, strict=True):
        if any(
            starts[i] < ends[j] and starts[j] < ends[i] for i, j in itertools.combinations(here, 2)
        ):
            return False
        held = itertools.accumulate(
            question.memory[i] for i in sorted(here, key=lambda i: starts[i])
        )
        if any(amount > room for amount in held):
            return False
    return True


@settings(max_examples=examples(40), deadline=None)
@given(questions())
def test_answers_are_right(question: Question) -> None:
    """Both encodings find start times that keep all constraints, or there are none."""
    possible = any(
        answers(question, starts)
        for starts in itertools.product(range(question.horizon), repeat=len(question.durations))
    )
    for memory in ("timeline", "pairs"):
        starts = finder(Budget(60), seed=1, memory=memory)(question)
        assert (starts is not None) == possible
        assert starts is None or answers(question, tuple(starts))


def test_memory_orders_jobs(encoding: str) -> None:
    """The second job waits for the memory of the first."""
    assert finder(Budget(60), 1, encoding)(SAMPLE) == [0, 3, 1]


def test_an_answer_does_not_depend_on_those_before(encoding: str) -> None:
    """The same seed finds the same."""
    loose = replace(SAMPLE, room=(2,), horizon=9, lags=())
    find = finder(Budget(60), 7, encoding)
    assert find(loose) == find(loose)


def test_time_optimal_start_times_a_spent_budget_ends_the_search(encoding: str) -> None:
    """Nothing is asked without time."""
    with pytest.raises(OutOfTimeError):
        finder(Budget(0), 1, encoding)(SAMPLE)


def test_z3_stops_in_time() -> None:
    """A question that is too hard ends with the budget, not with an answer."""
    jobs = range(60)
    hard = Question(
        durations=tuple(1000 + 37 * i for i in jobs),
        memory=(0,) * 60,
        on_device=(*(tuple(jobs)[part::3] for part in range(3)), tuple(jobs)[::2]),
        room=(0,) * 4,
        lags=tuple((i, i + 1, 3000) for i in jobs if i % 7 and i < 59),
        horizon=62_000,
    )
    with pytest.raises(OutOfTimeError):
        finder(Budget(0.5), 1, "pairs")(hard)


def test_a_long_timeline_is_not_for_it() -> None:
    """The published encoding needs a term for each tick; the other one does not."""
    long = replace(SAMPLE, durations=(1, 1, LONGEST_TIMELINE), horizon=LONGEST_TIMELINE + 2)
    with pytest.raises(UnsupportedError, match="4,098 slots; expected at most 4,096"):
        finder(Budget(60), 1, "timeline")(long)
    assert finder(Budget(60), 1, "pairs")(long) == [0, 4097, 1]


def test_an_encoding_needs_a_name() -> None:
    """The names are part of the error."""
    with pytest.raises(InvalidInputError, match="memory is 'slots'; expected timeline or pairs"):
        finder(Budget(60), 1, "slots")
