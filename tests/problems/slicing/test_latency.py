"""What plans take: the paper's cases by hand, and any plan index by index."""

from itertools import pairwise, product

import numpy as np
import pytest
from brute_force_slicing import HALO, instance, needs, needs_all, vectors
from hypothesis import assume, given
from hypothesis import strategies as st
from random_slicing import instances

from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing import CHANNELS, SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import (
    memory_taken,
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


def held_together(sample: SlicingInstance, operator: int, parts: int) -> int:
    """Return the bytes that devices hold at least, all together, while an operator runs in parts.

    Parts of the channels hold the operator's parameters once, parts of the height each; of a tensor
    that every part needs, each holds all, and other tensors are somewhere.
    """
    graph = sample.graph
    copies = 1 if graph.axis[operator] == CHANNELS else parts
    total = copies * int(graph.weights[operator])
    total += int(graph.length[operator] * graph.output[operator])
    for producer in {edge.producer for edge in graph.inputs[operator]}:
        length, output = int(graph.length[producer]), int(graph.output[producer])
        sizes = [length * output]
        for edge in graph.inputs[operator]:
            if edge.producer == producer and edge.is_whole:
                crosses = graph.axis[producer] != graph.axis[operator]
                moved = edge.unit * (edge.extent if crosses else 1)
                sizes.append(parts * length * min(moved, output))
        total += max(sizes)
    return total


def most_parts(sample: SlicingInstance, operator: int) -> int:
    """Return k_max of [MEMORIANOVA24], Equation 16: the most parts that the memory of all holds."""
    memory = int(sample.graph.capacity.sum())
    counts = range(1, sample.graph.devices + 1)
    return max((k for k in counts if held_together(sample, operator, k) <= memory), default=0)


def excess_parts(sample: SlicingInstance, plan: SlicingPlan, operator: int, idle: int = 1) -> int:
    """Return cv_6 of Equation 16; `idle` is I_j of a device without a part, 1 - `idle` of others.

    Equation 17 prints 0 for `idle`, which counts the devices that do nothing.
    """
    n = sample.graph.devices
    marks = [idle if a == b else 1 - idle for a, b in pairwise(plan.vectors[operator].tolist())]
    return n - sum(marks) - min(n, most_parts(sample, operator))


@pytest.mark.parametrize(
    ("axis", "weights", "output", "capacity", "most"),
    [
        # The height of v1: its parameters in each part. Outputs of both take 9 bytes.
        (1, 10, 1, [20, 20, 1], 3),
        (1, 11, 1, [20, 20, 1], 2),
        (1, 11, 1, [20, 8, 2], 1),
        # Channels of v1: its input of 12 bytes in each part.
        (0, 10, 3, [30, 15, 5], 2),
        (0, 1, 3, [30, 15, 5], 3),
    ],
)
def test_most_parts_are_those_of_all_plans(
    axis: int, weights: int, output: int, capacity: list[int], most: int
) -> None:
    """The formula allows as many parts as some plan has that all devices together have room for."""
    edge = needs_all(0, 1, 4, output) if axis == CHANNELS else needs(0, 1, 4, unit=output)
    sample = instance(
        [4, 5], [[1, 1, 1], [1, 1, 1]], [edge], axis=[axis, axis], weights=[0, weights],
        output=[output, 1], capacity=capacity,
    )  # fmt: skip
    found = set()
    for rows in product(vectors(4, 3), vectors(5, 3)):
        plan = SlicingPlan(np.array(rows))
        if sum(memory_taken(sample.graph, plan, plan_times(sample.graph, plan))[1]) <= sum(
            capacity
        ):
            found.add(sum(a < b for a, b in pairwise(rows[1])))
    assert max(found) == most_parts(sample, 1) == most


def test_parts_as_printed_are_others() -> None:
    """The cases of Equation 17 are swapped: as printed, plans without room pass, others do not."""
    rows = ([0, 3, 3, 3], [0, 1, 3, 3], [0, 1, 2, 3])
    one, two, three = (SlicingPlan(np.array([row])) for row in rows)
    roomy = instance([3], [[1, 1, 1]], weights=[10], capacity=[13, 13, 3])
    assert [excess_parts(roomy, plan, 0) for plan in (one, two, three)] == [-1, 0, 1]
    assert (roomy.objective(one), roomy.objective(two)) == (1, 1)
    with pytest.raises(InvalidInputError, match="device 'd2' holds 10 bytes"):
        roomy.objective(three)
    assert excess_parts(roomy, three, 0, idle=0) <= 0
    narrow = instance([3], [[1, 1, 1]], weights=[10], capacity=[13, 3, 3])
    assert narrow.objective(one) == 1
    assert excess_parts(narrow, one, 0) == 0 < excess_parts(narrow, one, 0, idle=0)
