import itertools

from brute_force_microbatch import layouts
from hypothesis import given
from hypothesis import strategies as st
from layouts import shape

from boundmark.problems.arrays import frozen
from boundmark.problems.microbatch import BlockLayout
from boundmark.problems.microbatch.schedule import Job, earliest_starts, left_shifted


def least_starts(layout: BlockLayout, jobs: list[Job]) -> dict[Job, int]:
    """Raise start times from 0 until the order on each device and all dependencies are kept."""
    waits = [
        (first, second)
        for device in range(layout.devices)
        for first, second in itertools.pairwise(
            [job for job in jobs if device in layout.blocks[job[1]].devices]
        )
    ]
    waits += [
        ((number, producer), (number, i))
        for number, i in jobs
        for producer in layout.dag.producers_of(i).tolist()
        if (number, producer) in jobs
    ]
    starts = dict.fromkeys(jobs, 0)
    is_changing = True
    while is_changing:
        is_changing = False
        for first, second in waits:
            end = starts[first] + layout.blocks[first[1]].duration
            if starts[second] < end:
                starts[second] = end
                is_changing = True
    return starts


@st.composite
def sequences(draw: st.DrawFn) -> tuple[BlockLayout, list[Job]]:
    """Draw some jobs of up to 3 micro-batches, none before what it waits for."""
    layout = draw(layouts())
    order = layout.dag.topological_order.tolist()
    turns = draw(st.permutations([number for number in range(3) for _ in order]))
    position = [0, 0, 0]
    jobs = []
    for number in turns:
        jobs.append((number, order[position[number]]))
        position[number] += 1
    return layout, [job for job in jobs if draw(st.integers(0, 4))]


@given(sequences())
def test_no_job_could_start_earlier(sample: tuple[BlockLayout, list[Job]]) -> None:
    """The start times are the least ones that keep to the sequence, on whatever devices."""
    layout, jobs = sample
    assert earliest_starts(layout, jobs) == least_starts(layout, jobs)


def test_what_is_left_out_is_done() -> None:
    """Without its forward blocks, a backward block starts at once."""
    layout = shape("v-2-train").layout
    assert earliest_starts(layout, [(0, 2), (0, 3)]) == {(0, 2): 0, (0, 3): 3}


def test_left_shifting_keeps_the_order_on_each_device() -> None:
    """Gaps vanish, and what runs first stays first."""
    layout = shape("v-2-train").layout
    late = frozen([[5, 9, 20, 40], [7, 30, 50, 60]])
    assert left_shifted(layout, late).tolist() == [[0, 1, 2, 5], [1, 5, 6, 9]]
