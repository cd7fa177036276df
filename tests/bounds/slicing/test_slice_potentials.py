"""Potentials prove no more than the optimum, whatever they are, and tables are the checker's."""

import itertools
from typing import Any

import numpy as np
import pytest
from brute_force_slicing import instance, needs, needs_all, optimum, vectors
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_slicing import instances
from recording import record
from selection import examples
from tiny_slicing import LARGER, tiny

from boundmark.bounds import checker
from boundmark.bounds.checker.slicing.potentials import slice_memory, slice_potentials
from boundmark.bounds.checker.slicing.ticks import operators
from boundmark.bounds.slicing.slice_potentials import (
    Passing,
    PotentialSettings,
    all_begins,
    class_begins,
    factor_of,
    rounded,
    run,
)
from boundmark.problems.certificate import Certificate
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.slicing import SlicingInstance, SlicingPlan
from boundmark.problems.slicing.latency import memory_taken, plan_times


@given(st.integers(1, 3000), st.integers(1, 9), st.integers(2, 20))
def test_classes_cover_all_widths(length: int, devices: int, count: int) -> None:
    """From the least width that the largest part can have to the whole operator, alone."""
    begins = class_begins(length, devices, count)
    assert begins[0] == -(-length // devices)
    assert begins[-1] == length
    assert begins == sorted(set(begins))
    assert len(begins) <= max(count, 1)


def test_as_many_classes_as_tables_have_room_for() -> None:
    """Long chains of long operators get few, and short ones many."""
    counts = []
    for operators_ in (3, 300, 3000):
        edges = [needs(v - 1, v, 100) for v in range(1, operators_)]
        sample = instance([100] * operators_, [[1, 1]] * operators_, edges)
        counts.append(max(map(len, all_begins(sample, 0))))
        assert max(map(len, all_begins(sample, 5))) == 5
    assert counts == [40, 28, 8]


def largest_classes(seconds: float) -> tuple[list[int], list[int]]:
    """Return the most classes of an operator, and the bound, of each report."""
    reported: list[Certificate] = []

    class Reports:
        def solution(self, solution: object) -> None:
            raise AssertionError("this is a method of bounds")

        def bound(self, bound: Certificate) -> None:
            reported.append(bound)

    sizes = PotentialSettings(first_classes=3, choices=(40,))
    run(LARGER, Budget(seconds), 0, Reports(), classes=0, settings=sizes)
    largest = [max(map(len, one.payload["classes"])) for one in reported]
    return largest, [one.bound for one in reported]


def test_the_first_bound_takes_few_classes() -> None:
    """A slow machine has a bound from small tables before it builds the large ones."""
    largest, bounds = largest_classes(60.0)
    assert largest[0] == 3
    assert largest[-1] == 11
    assert bounds[0] < bounds[-1]


def test_tables_that_would_take_too_long_are_not_begun() -> None:
    """By the time that the first ones took; so no method is killed while it fills them."""
    assert largest_classes(0.0)[0] == [3]


def classes_of(sample: SlicingInstance, count: int) -> list[list[tuple[int, int]]]:
    """Return ranges of widths for each operator."""
    lengths = sample.graph.length.tolist()
    begins = [class_begins(length, sample.graph.devices, count) for length in lengths]
    return [
        list(zip(row, [begin - 1 for begin in row[1:]] + [length], strict=True))
        for row, length in zip(begins, lengths, strict=True)
    ]


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_least_ticks_of_any_plan(data: st.DataObject) -> None:
    """No operator of any plan takes less than its widths and those of its inputs say."""
    sample = data.draw(instances(length=5))
    classes = classes_of(sample, data.draw(st.sampled_from([2, 3, 9])))
    found = operators(checker.check_instance(sample.to_json()), classes)
    least = [[one.least(own).table() for own in one.own] for one in found]
    devices = sample.graph.devices
    choices = [vectors(length, devices) for length in sample.graph.length.tolist()]
    drawn = data.draw(st.lists(st.tuples(*map(st.sampled_from, choices)), min_size=1, max_size=20))
    for rows in drawn:
        times = plan_times(sample.graph, SlicingPlan(np.array(rows)))
        widths = [int(np.diff(row).max()) for row in rows]
        classed = [
            next(c for c, (low, high) in enumerate(own) if low <= width <= high)
            for own, width in zip(classes, widths, strict=True)
        ]
        for number, one in enumerate(found):
            sizes = [len(row) for row in one.classes]
            place = 0
            for producer, size in zip(one.producers, sizes, strict=True):
                place = place * size + classed[producer]
            assert least[number][classed[number]][place] <= times[number].total


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_any_potentials_are_valid(data: st.DataObject) -> None:
    """Whatever integers they are, what they prove is no more than the optimum."""
    sample = data.draw(instances(devices=2))
    begins = [[low for low, _ in row] for row in classes_of(sample, 9)]
    read = checker.check_instance(sample.to_json())
    potentials = [
        [
            [data.draw(st.integers(-30, 30)) for _ in begins[producer]]
            for producer in sorted({edge.producer for edge in inputs})
        ]
        for inputs in sample.graph.inputs
    ]
    payload = {"classes": begins, "potentials": potentials}
    assert slice_potentials(read, payload) <= optimum(sample)


def test_passing_never_loses() -> None:
    """Where all combinations are in tables, the sum of least costs does not fall."""
    for sample, _ in [*tiny()[:10], (LARGER, 0)]:
        read = checker.check_instance(sample.to_json())
        passing = Passing(operators(read, classes_of(sample, 9)))
        totals = [passing.total()]
        for _ in range(3):
            passing.forward()
            totals.append(passing.total())
            passing.backward()
            totals.append(passing.total())
        assert all(a <= b + 1e-6 for a, b in itertools.pairwise(totals))


def test_tables_are_the_checkers() -> None:
    """With and without all combinations: what rounded potentials prove is what tables say."""
    for sample, _ in tiny():
        read = checker.check_instance(sample.to_json())
        classes = classes_of(sample, 9)
        found = operators(read, classes)
        passing = Passing(found)
        passing.forward()
        potentials = rounded(passing)
        begins = [[low for low, _ in row] for row in classes]
        proven = slice_potentials(read, {"classes": begins, "potentials": potentials})
        taken = [np.zeros(len(own)) for own in classes]
        for one, rows in zip(found, potentials, strict=True):
            for producer, row in zip(one.producers, rows, strict=True):
                taken[producer] -= row
        total = 0.0
        for number, (one, rows) in enumerate(zip(found, potentials, strict=True)):
            added = [np.array(row, dtype=float) for row in rows]
            total += factor_of(one).least_by_class(taken[number], added, 0).min()
        # Floors of operators with many inputs may differ by the checker's floor.
        assert proven == round(total)


# Bounds that see memory: never above the optimum, and above those that do not see it.

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
