"""Bounds that see memory: never above the optimum, and above those that do not see it."""

from typing import Any

import numpy as np
import pytest
from brute_force_slicing import instance, needs, needs_all, optimum, vectors
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_slicing import instances
from recording import record
from selection import examples

from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.potentials import slice_memory, slice_potentials
from boundmark.bounds.checker.slicing.ticks import operators
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import memory_taken, plan_times

SCARCE = (8, 12, 16, 20, 30, 60)

# Neither device has memory for a whole operator's parameters and output.
HALVES = instance(
    [4, 4], [[8, 8], [8, 8]], [needs(0, 1, 4, unit=2)], axis=[0, 0], weights=[8, 8], output=[2, 2],
    point_to_point=(3, 1), capacity=[12, 12],
)  # fmt: skip


def fine(sample: SlicingInstance) -> list[list[int]]:
    """Return a class for each width."""
    devices = sample.graph.devices
    return [list(range(-(-n // devices), n + 1)) for n in sample.graph.length.tolist()]


def payload(sample: SlicingInstance) -> dict[str, Any]:
    """Return classes for all widths, and potentials of 0."""
    classes = fine(sample)
    zero = [
        [[0] * len(classes[u]) for u in sorted({edge.producer for edge in inputs})]
        for inputs in sample.graph.inputs
    ]
    return {"classes": classes, "potentials": zero}


def scarce(data: st.DataObject) -> SlicingInstance:
    """Draw an instance with little memory that is not refused at once."""
    try:
        return data.draw(instances(devices=2, capacity=SCARCE))
    except InvalidInputError:
        assume(False)
        raise


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_no_more_than_the_optimum(data: st.DataObject) -> None:
    """And at least what is proven without memory; refused only where no plan fits."""
    sample = scarce(data)
    read, given_, best = checker.check_instance(sample.to_json()), payload(sample), optimum(sample)
    try:
        proven = slice_memory(read, given_)
    except checker.Rejected:
        assert best == float("inf")
        return
    assert slice_potentials(read, given_) <= proven <= best
    for certificate in record("slice-memory", sample).bounds:
        assert certificate.bound <= best


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_plans_that_fit_are_possible(data: st.DataObject) -> None:
    """No plan that fits has a width, or a number of parts, that is said to have no room."""
    sample = scarce(data)
    graph, begins = sample.graph, fine(sample)
    classes = [[(width, width) for width in row] for row in begins]
    found = operators(checker.check_instance(sample.to_json()), classes, with_memory=True)
    choices = [vectors(length, graph.devices) for length in graph.length.tolist()]
    for rows in data.draw(st.lists(st.tuples(*map(st.sampled_from, choices)), max_size=20)):
        plan = SlicingPlan(np.array(rows))
        times = plan_times(graph, plan)
        for operator, taken in enumerate(memory_taken(graph, plan, times)):
            width = int(np.diff(rows[operator]).max())
            if all(a <= b for a, b in zip(taken, graph.capacity.tolist(), strict=True)):
                assert found[operator].is_possible((width, width))


def test_by_hand() -> None:
    """Without memory, one device is least for the second; with it, all are in halves."""
    read = checker.check_instance(HALVES.to_json())
    assert slice_memory(read, payload(HALVES)) == 8 == optimum(HALVES)
    # The whole on one device is left out where only that would save the broadcast.
    sample = instance(
        [4, 4], [[8, 8], [8, 8]], [needs_all(0, 1, 4, 2)], axis=[0, 0], output=[2, 2],
        weights=[0, 8], capacity=[16, 16],
    )  # fmt: skip
    read = checker.check_instance(sample.to_json())
    assert slice_potentials(read, payload(sample)) < slice_memory(read, payload(sample))
    assert slice_memory(read, payload(sample)) == optimum(sample)


def test_what_is_proven_to_fit_nowhere() -> None:
    """What waits for later operators counts, which no operator needs on its own."""
    sample = instance(
        [2] * 4, [[1, 1]] * 4, [needs(0, 1, 2), needs(1, 2, 2), needs(2, 3, 2), needs(0, 3, 2)],
        output=[4, 4, 4, 0], capacity=[8, 8],
    )  # fmt: skip
    assert optimum(sample) == float("inf")
    with pytest.raises(
        UnsupportedError, match="no slicing meets the memory limits: while operator 'v2' runs"
    ):
        record("slice-memory", sample)
    with pytest.raises(checker.Rejected, match="fits into no memory"):
        slice_memory(checker.check_instance(sample.to_json()), payload(sample))


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_only_what_is_infeasible_is_refused(data: st.DataObject) -> None:
    """Whatever the memory: an instance that is refused has no plan that fits."""
    sample = data.draw(instances(devices=2))
    limits = [data.draw(st.integers(0, 40)) for _ in range(sample.graph.devices)]
    try:
        SlicingInstance.from_json({**sample.to_json(), "capacity": limits})
    except InvalidInputError as error:
        assert "no slicing of operator" in str(error)  # noqa: PT017
    else:
        return
    choices = [vectors(n, sample.graph.devices) for n in sample.graph.length.tolist()]
    import itertools

    for rows in itertools.product(*choices):
        plan = SlicingPlan(np.array(rows))
        taken = memory_taken(sample.graph, plan, plan_times(sample.graph, plan))
        assert any(a > b for row in taken for a, b in zip(row, limits, strict=True))
