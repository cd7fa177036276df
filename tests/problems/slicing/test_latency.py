"""What plans take: the paper's cases by hand, and any plan index by index."""

import numpy as np
import pytest
from brute_force_slicing import HALO, instance, needs, needs_all
from hypothesis import assume, given
from hypothesis import strategies as st
from random_slicing import instances, plans
from slow_slicing import simulate

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.noise import Noise
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import (
    noisy_latencies,
    operator_times,
    plan_ranges,
    plan_times,
)


def communication(sample: SlicingInstance, *rows: list[int]) -> list[int]:
    """Return what each device communicates for the last operator."""
    ranges = plan_ranges(SlicingPlan(np.array(rows)))
    return operator_times(sample.graph, ranges, sample.nodes - 1).communication


def test_case_one_everything_is_broadcast() -> None:
    """Slices of channels that need all inputs: each device takes part in the whole broadcast."""
    sample = instance([6, 4], [[0, 0], [0, 0]], [needs_all(0, 1, 6, 2)], axis=[0, 0])
    assert communication(sample, [0, 3, 6], [0, 2, 4]) == [12, 12]
    # Whoever computes alone gets what it does not hold.
    assert communication(sample, [0, 4, 6], [0, 4, 4]) == [4, 0]
    assert communication(sample, [0, 6, 6], [0, 4, 4]) == [0, 0]


def test_case_two_dimensions_cross() -> None:
    """Rows of a tensor whose channels are sliced: all channels but those of the device itself."""
    sample = instance([6, 4], [[0, 0], [0, 0]], [needs(0, 1, 4, HALO)], axis=[0, 1])
    # Three rows each, of two channels and of four.
    assert communication(sample, [0, 4, 6], [0, 2, 4]) == [6, 12]


def test_case_three_rows_that_are_missing() -> None:
    """Rows of a tensor whose rows are sliced: what is needed and not held, halo included.

    Printed with the maximum of what is needed and what is missing, which would move everything.
    """
    sample = instance([8, 8], [[0] * 3] * 2, [needs(0, 1, 8, HALO)])
    assert communication(sample, [0, 3, 6, 8], [0, 3, 6, 8]) == [1, 2, 1]
    assert communication(sample, [0, 3, 6, 8], [0, 2, 2, 8]) == [0, 0, 5]
    assert communication(sample, [0, 8, 8, 8], [0, 0, 0, 8]) == [0, 0, 8]


def test_slowest_device_counts_and_operators_add_up() -> None:
    """Rounded up, with the time to launch and the delay of the router."""
    sample = instance(
        [4, 4], [[9, 9], [8, 2]], [needs(0, 1, 4, HALO)], launch=[1, 2], delay=5,
        point_to_point=(3, 2),
    )  # fmt: skip
    times = plan_times(sample.graph, SlicingPlan(np.array([[0, 1, 4], [0, 2, 4]])))
    assert [one.computation for one in times] == [[4, 9], [5, 3]]
    assert [one.communication for one in times] == [[0, 0], [5 + 3, 0]]
    assert sample.objective(SlicingPlan(np.array([[0, 1, 4], [0, 2, 4]]))) == 9 + 13


@given(st.data())
def test_any_plan_index_by_index(data: st.DataObject) -> None:
    """Latency and memory are those of a simulation with sets of indices."""
    sample = data.draw(instances())
    plan = data.draw(plans(sample))
    latency, fits = simulate(sample, plan)
    assert sum(one.total for one in plan_times(sample.graph, plan)) == latency
    if fits:
        assert sample.objective(plan) == latency
    else:
        with pytest.raises(InvalidInputError, match=r"holds \d+ bytes while operator"):
            sample.objective(plan)


@given(st.data())
def test_one_device_communicates_nothing(data: st.DataObject) -> None:
    """It takes its own work, and no other device anything."""
    sample = data.draw(instances())
    graph = sample.graph
    assume(int(graph.capacity[0]) == 1000)
    vectors = np.repeat(graph.length[:, None], graph.devices + 1, axis=1)
    vectors[:, 0] = 0
    busy = graph.work[:, 0] + np.where(graph.work[:, 0] > 0, graph.launch[0], 0)
    assert sample.objective(SlicingPlan(vectors)) == busy.sum()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0, 4]], "vectors have the shape"),
        ([[0, 2, 4], [1, 2, 4]], "vector of operator 'v1' is"),
        ([[0, 2, 4], [0, 2, 3]], "expected ascending integers from 0 to 4"),
        ([[0, 5, 4], [0, 2, 4]], "expected ascending integers from 0 to 4"),
    ],
)
def test_vectors_that_are_none(rows: list[list[int]], expected: str) -> None:
    """Each is refused with what is wrong."""
    sample = instance([4, 4], [[1, 1], [1, 1]])
    with pytest.raises(InvalidInputError, match=expected):
        sample.objective(SlicingPlan(np.array(rows)))


@pytest.mark.parametrize("value", [{}, {"vectors": 3}, {"vectors": []}, {"vectors": [[0], [0, 1]]}])
def test_solutions_that_are_none(value: dict[str, object]) -> None:
    """Vectors are a table of integers."""
    with pytest.raises(InvalidInputError, match="vectors of the solution is not a list"):
        SlicingPlan.from_json(value)


@given(st.data())
def test_noise_of_no_size_changes_nothing(data: st.DataObject) -> None:
    """Drawn latencies are that of the plan, whether it fits into memory or not."""
    sample = data.draw(instances())
    plan = data.draw(plans(sample))
    latency = sum(one.total for one in plan_times(sample.graph, plan))
    assert noisy_latencies(sample, plan, Noise(0.0, 3)).tolist() == [latency] * 3
    assert noisy_latencies(sample, plan, Noise(0.5, 4)).shape == (4,)
