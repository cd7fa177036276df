"""Orders that BTSearch finds, and the plans that they make room for."""

import pytest
from brute_force_slicing import instance, needs, optimum
from hypothesis import given, settings
from random_slicing import instances
from recording import record
from selection import examples

from boundmark.bounds import checker
from boundmark.heuristics.slicing.memorianova import least_memory_order, ordering_instance
from boundmark.problems.errors import InvalidInputError, UnsupportedError
from boundmark.problems.method import Budget
from boundmark.problems.ordering import ExecutionOrder
from boundmark.problems.problem import solution_document
from boundmark.problems.slicing import SlicingInstance, SlicingPlan

# Two branches: large outputs first, small ones behind. In the order of numbers both large ones are
# held at once, 20 bytes; branch by branch, 12 are enough.
BRANCHES = instance(
    [1] * 5, [[3]] * 5, [needs(0, 2, 1), needs(1, 3, 1), needs(2, 4, 1), needs(3, 4, 1)],
    output=[10, 10, 1, 1, 1], capacity=[12],
)  # fmt: skip


def test_an_order_that_makes_room() -> None:
    """What no plan in the order of the file can do, and what the checker accepts."""
    with pytest.raises(UnsupportedError, match="memory"):
        record("geneflow", BRANCHES, params={"generations": 2})
    found = record("memorianova", BRANCHES, params={"generations": 2}).solutions[-1]
    assert isinstance(found, SlicingPlan)
    assert BRANCHES.objective(found) == 15 == optimum(BRANCHES)
    document = solution_document(BRANCHES, found, 15)
    assert checker.check_solution(BRANCHES.to_json(), document) == 15
    assert BRANCHES.objective(SlicingPlan.from_json(document)) == 15
    with pytest.raises(InvalidInputError, match="holds 20 bytes while operator 'v1' runs"):
        BRANCHES.objective(SlicingPlan(found.vectors))


def test_vectors_belong_to_their_operators() -> None:
    """Whatever the order, each operator keeps the vector that was found for it."""
    sample = instance(
        [2, 7, 3, 5], [[4, 9], [6, 2], [8, 8], [3, 5]], [needs(0, 2, 2), needs(1, 3, 7)],
        output=[9, 1, 9, 1],
    )  # fmt: skip
    for found in record("memorianova", sample, params={"generations": 4}).solutions:
        assert isinstance(found, SlicingPlan)
        assert found.vectors[:, -1].tolist() == [2, 7, 3, 5]
        assert sample.objective(found) >= optimum(sample)


@settings(max_examples=examples(30), deadline=None)
@given(instances())
def test_memory_of_orders(sample: SlicingInstance) -> None:
    """The order found has no larger sum of memory than that of the file."""
    ordering = ordering_instance(sample.graph)
    order = least_memory_order(sample.graph, Budget(wall_seconds=5))
    first = ExecutionOrder(list(range(sample.nodes)))  # type: ignore[arg-type]
    assert ordering.objective(ExecutionOrder(order)) <= ordering.objective(first)
