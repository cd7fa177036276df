import json
from typing import Any

import pytest
from brute_force_ordering import instance

from boundmark.bounds import checker
from boundmark.problems.errors import BoundmarkError, InvalidInputError
from boundmark.problems.json_documents import canonical_json
from boundmark.problems.ordering import PROBLEM, ExecutionOrder, OrderingInstance
from boundmark.problems.ordering.order import memory_parts

# An input, a fork whose branches meet again, and a result.
TENSORS = [(4, -1, [0]), (3, 0, [1, 2]), (5, 1, [3]), (3, 2, [3]), (2, 3, [])]
SAMPLE = instance(4, TENSORS, kept=[4], parameters=[1, 7, 0, 2], total=9)


def test_canonical_form() -> None:
    """It holds what the optimum depends on, and reads back to the same hash."""
    document = SAMPLE.to_json()
    assert document == {
        "format": "boundmark-instance/1", "problem": "ordering",
        "metric": "peak", "in_place": "no", "weights": "none",
        "size": [4, 3, 5, 3, 2], "producer": [-1, 0, 1, 2, 3],
        "consumers": [[0], [1, 2], [3], [3], []], "kept": [4],
        "parameter_size": [1, 7, 0, 2], "parameter_total": 9,
        "overwrites": [[], [], [1], [2, 3]],
    }  # fmt: skip
    read = OrderingInstance.from_json(json.loads(canonical_json(document)))
    assert read.sha256 == SAMPLE.sha256
    assert checker.instance_sha256(document) == SAMPLE.sha256


def test_parts_by_hand() -> None:
    """What an operator reads, what it writes, what waits, and parameters."""
    order = ExecutionOrder.from_json({"order": [0, 1, 2, 3]})
    streamed = SAMPLE.with_parameters({"weights": "streamed", "in_place": "yes"})
    assert memory_parts(streamed, order) == [
        (4, 3, 0, 1), (3, 5, 0, 7), (3, 0, 5, 0), (8, 0, 0, 2),
    ]  # fmt: skip


def test_parameters() -> None:
    """What counts is part of the instance, and can be changed."""
    changed = SAMPLE.with_parameters({"metric": "sum", "in_place": "yes"})
    assert changed.parameters == {"metric": "sum", "in_place": "yes", "weights": "none"}
    assert changed.sha256 != SAMPLE.sha256
    assert changed.with_parameters(SAMPLE.parameters).sha256 == SAMPLE.sha256
    assert not changed.is_redundant
    assert instance(1, [(3, 0, [])], in_place="yes").is_redundant
    assert instance(1, [(3, 0, [])], weights="resident").is_redundant


def test_names_are_given_back() -> None:
    """They are no part of the instance, but people want to see them."""
    assert PROBLEM.naming is not None
    read = OrderingInstance.from_json(SAMPLE.to_json())
    named = PROBLEM.naming.rename(read, ("a", "b", "c", "d"), "unit")
    assert PROBLEM.naming.names(named) == ("a", "b", "c", "d")
    assert named.sha256 == SAMPLE.sha256


def test_orders_as_tables() -> None:
    """A row per operator; positions may have gaps, but none twice."""
    assert PROBLEM.table is not None
    solution = PROBLEM.table.solution([(0, 10), (2, 30), (1, 20)], 3)
    assert solution.order.tolist() == [0, 1, 2]
    assert list(PROBLEM.table.rows(ExecutionOrder.from_json({"order": [2, 0, 1]}))) == [
        (0, 1), (1, 2), (2, 0),
    ]  # fmt: skip
    with pytest.raises(InvalidInputError, match="position 7 occurs twice"):
        PROBLEM.table.solution([(0, 7), (1, 7)], 2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metric": "mean"}, "metric is 'mean'; expected 'peak' or 'sum'"),
        ({"in_place": "maybe"}, "in_place is 'maybe'; expected 'no' or 'yes'"),
        ({"weights": "some"}, "weights is 'some'; expected 'none' or 'streamed' or 'resident'"),
        ({"size": [4, 3, 5, 3]}, "size, producer and consumers differ in length"),
        ({"size": [4, 3, 5, 3, -2]}, "size of node '4' is -2; expected a non-negative"),
        ({"size": [4, 3, 5, 3, None]}, "size is not a list of integers"),
        ({"size": [2**53, 3, 5, 3, 2]}, "expected at most 2\\^53"),
        ({"producer": [-2, 0, 1, 2, 3]}, "producer of tensor 0 is -2; expected 0 to 3, or -1"),
        ({"producer": [-1, 3, 1, 2, 3], "overwrites": [[]] * 4}, "the edges form a cycle"),
        ({"producer": [0, 0, 1, 2, 3]}, "the edges form a cycle, 0 -> 0"),
        ({"consumers": [[0], [2, 1], [3], [3], []]}, r"of tensor 1 is \[2, 1\]; expected ascen"),
        ({"consumers": [[0], [1, 4], [3], [3], []]}, r"of tensor 1 is \[1, 4\]; expected ascend"),
        (
            {"consumers": [[0], 1, [3], [3], []]},
            "an entry of consumers is 1; expected a list of integers",
        ),
        ({"kept": [5]}, r"kept is \[5\]; expected ascending numbers from 0 to 4"),
        ({"parameter_size": []}, "the graph has no operators"),
        ({"parameter_size": [1, 7, 0, -2]}, "parameter_size of node '3' is -2"),
        ({"parameter_total": 6}, "reads 7 bytes of parameters, and parameter_total is 6"),
        ({"parameter_total": None}, "parameter_total is None; expected a non-negative integer"),
        ({"overwrites": [[], [], [1]]}, "overwrites has 3 lists; expected one for each of the 4"),
        ({"overwrites": [[], [], [2], []]}, "'2' overwrites tensor 2; expected one that it reads"),
        ({"overwrites": [[0], [], [], []]}, "'0' overwrites tensor 0; .* that an operator writes"),
        ({"overwrites": [[], [1], [], []]}, "'1' overwrites tensor 1; expected its only output to"),
        ({"kept": [3]}, "'3' overwrites tensor 3, which is kept to the end"),
    ],
)  # fmt: skip
def test_malformed_instances(change: dict[str, Any], expected: str) -> None:
    """Both readers refuse them, each with a sentence of its own."""
    document = {**SAMPLE.to_json(), **change}
    with pytest.raises(BoundmarkError, match=expected):
        OrderingInstance.from_json(document)
    with pytest.raises(checker.Rejected):
        checker.check_instance(document)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([0, 1, 2], "not one of the operators 0 to 3, each once"),
        ([0, 1, 2, 2], "not one of the operators 0 to 3, each once"),
        ([0, 1, 2, 4], "not one of the operators 0 to 3, each once"),
        ([0, 1, 3, 2], "operator 'v3' runs before operator 'v2', whose output it reads"),
        ([0, 1, 2, None], "order of the solution is not a list of integers"),
        ([[0, 1, 2, 3]], "order of the solution is not a list of integers"),
        (None, "order of the solution is not a list of integers"),
    ],
)
def test_malformed_orders(order: Any, expected: str) -> None:
    """They are refused with what is wrong; the checker refuses them too."""
    with pytest.raises(BoundmarkError, match=expected):
        SAMPLE.objective(ExecutionOrder.from_json({"order": order}))
    stored = {
        "format": "boundmark-solution/1", "problem": "ordering", "objective": 11,
        "instance_sha256": SAMPLE.sha256, "order": order,
    }  # fmt: skip
    with pytest.raises(checker.Rejected):
        checker.check_solution(SAMPLE.to_json(), stored)
