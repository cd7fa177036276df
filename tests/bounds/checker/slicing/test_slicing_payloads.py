"""Payloads and documents of `slicing` that the checker refuses, and what it proves by hand."""

import re
from typing import Any

import pytest
from brute_force_slicing import HALO, instance, needs, needs_all
from checking import cost_or_reason, proved

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.slicing import SlicingInstance, SlicingPlan

SAMPLE = instance([4, 4], [[9, 9], [8, 8]], [needs(0, 1, 4, HALO)], point_to_point=(3, 1))
PAYLOAD: dict[str, Any] = {"classes": [[2, 3, 4], [2, 3, 4]], "potentials": [[], [[0, 0, 0]]]}


def check(kind: str, payload: Any, sample: SlicingInstance = SAMPLE) -> int:
    """Return what a payload proves."""
    return proved(sample, kind, payload)


def test_by_hand() -> None:
    """Halves of both take 5 + 4; either the halo costs 3 more in halves, or one computes 9 or 8."""
    assert check("slice-compute/1", {}) == 5 + 4
    # Halves of the second take 4 + 3, and 8 on one device.
    assert check("slice-potentials/1", PAYLOAD) == 5 + 7
    whole = {"classes": [[2, 3, 4]], "potentials": [[]]}
    assert check("slice-potentials/1", whole, instance([4], [[9, 9]])) == 5


def test_an_impossible_broadcast_is_avoided() -> None:
    """Potentials are needed where the second operator is best if the first one is not."""
    sample = instance([4, 4], [[8, 8], [8, 8]], [needs_all(0, 1, 4, 3)])
    none = {"classes": [[2, 3, 4], [2, 3, 4]], "potentials": [[], [[0, 0, 0]]]}
    some = {"classes": [[2, 3, 4], [2, 3, 4]], "potentials": [[], [[-4, -2, 0]]]}
    assert check("slice-potentials/1", none, sample) == 4 + 8
    assert check("slice-potentials/1", some, sample) == 16


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("slice-compute/1", {"node": 1}, "it has 'node'"),
        ("slice-potentials/1", {"classes": []}, "it lacks potentials"),
        ("slice-potentials/1", {**PAYLOAD, "classes": [[2, 3, 4]]}, "not one list for each op"),
        ("slice-potentials/1", {**PAYLOAD, "classes": [[3, 4], [2, 4]]}, "with the least width"),
        ("slice-potentials/1", {**PAYLOAD, "classes": [[1, 4], [2, 4]]}, "with the least width"),
        ("slice-potentials/1", {**PAYLOAD, "classes": [[2, 3], [2, 4]]}, "do not end with all"),
        ("slice-potentials/1", {**PAYLOAD, "classes": [[2, 2, 4], [2, 4]]}, "are not ascending"),
        ("slice-potentials/1", {**PAYLOAD, "classes": [[], [2, 4]]}, "do not begin with"),
        ("slice-potentials/1", {**PAYLOAD, "potentials": [[]]}, "not one list for each operator"),
        ("slice-potentials/1", {**PAYLOAD, "potentials": [[], []]}, "not one list for each that"),
        ("slice-potentials/1", {**PAYLOAD, "potentials": [[], [[0]]]}, "for each of its classes"),
        ("slice-potentials/1", {**PAYLOAD, "potentials": [[], [[0, 0, 0.5]]]}, "is not an integer"),
    ],
)
def test_payloads_that_prove_nothing(kind: str, payload: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check(kind, payload)


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ([[0, 2, 4]], "not one for each operator"),
        ([[0, 2, 4], [0, 4]], "does not go from 0 to the operator's length"),
        ([[0, 2, 4], [0, 2, 3]], "does not go from 0 to the operator's length"),
        ([[0, 2, 4], [1, 2, 4]], "does not go from 0 to the operator's length"),
        ([[0, 2, 4], [0, 5, 4]], "a vector of the solution is not|is not an integer from 0 to 4"),
    ],
)
def test_vectors_that_are_none(vectors: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    assert re.search(expected, str(cost_or_reason(SAMPLE, {"vectors": vectors})))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([0], "does not have each operator once"),
        ([0, 0], "does not have each operator once"),
        ([0, 2], "the order of the solution"),
        ([1, 0], "an operator comes before one that it reads"),
        (None, "the order of the solution is not a list"),
    ],
)
def test_orders_that_are_none(order: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    sample = instance([2, 2], [[1, 1]] * 2, [needs(0, 1, 2)])
    stored = {"vectors": [[0, 1, 2], [0, 1, 2]], "order": order}
    assert expected in str(cost_or_reason(sample, stored))
    if order is not None:
        with pytest.raises(InvalidInputError, match="order"):
            sample.objective(SlicingPlan.from_json(stored))


def test_descending_vectors_and_too_little_memory() -> None:
    """Both break a constraint."""
    sample = instance([4, 4], [[1] * 3] * 2, output=[2, 1], weights=[3, 0], capacity=[7, 9, 9])
    for vectors, expected in (
        ([[0, 2, 4, 4], [0, 3, 2, 4]], "is not ascending"),
        ([[0, 2, 3, 4], [0, 2, 3, 4]], 2),
        ([[0, 3, 3, 4], [0, 2, 3, 4]], "holds more than its capacity"),
    ):
        found = cost_or_reason(sample, {"vectors": vectors})
        assert found == expected or str(expected) in str(found)


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many classes, and long operators, are refused as too large."""
    long = instance([2000, 2000], [[9, 9], [8, 8]], [needs(0, 1, 2000, HALO)])
    begins = list(range(1000, 2001))
    payload = {"classes": [begins, begins], "potentials": [[], [[0] * 1001]]}
    monkeypatch.setattr(budget, "MOST_STEPS", 2**20)
    with pytest.raises(checker.TooLarge, match="more than 1,048,576 steps"):
        check("slice-potentials/1", payload, long)
    monkeypatch.setattr(budget, "MOST_CHECK_BYTES", 2**16)
    with pytest.raises(checker.TooLarge, match="of memory"):
        check("slice-potentials/1", payload, long)
