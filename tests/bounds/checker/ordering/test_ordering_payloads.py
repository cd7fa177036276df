from typing import Any

import pytest
from brute_force_ordering import instance
from checking import proved

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.problems.ordering import OrderingInstance

# A fork of two branches of two operators each, then a join: 0; 1, 2; 3, 4; 5.
TENSORS = [
    (2, -1, [0]), (2, 0, [1]), (2, 0, [3]), (9, 1, [2]), (1, 2, [5]), (9, 3, [4]), (1, 4, [5]),
    (1, 5, []),
]  # fmt: skip
SAMPLE = instance(6, TENSORS)
SUM = SAMPLE.with_parameters({"metric": "sum"})
ORDER = [0, 1, 2, 3, 4, 5]
CUT = {"order": ORDER, "forced": [], "cuts": []}
SEARCH = {"order": ORDER, "stops": [], "cuts": [], "searches": []}
# L is 4, 11, 3, 10, 2 along the branches: each takes 1 away, with 2 operators.
SLOPE = {"at": 3, "slope": [-1, 2], "prices": [[1, 1, 4], [3, 2, 3], [2, 3, 4], [5, 4, 3]]}


def check(kind: str, payload: Any, sample: OrderingInstance = SAMPLE) -> int:
    """Return what a payload proves."""
    return proved(sample, kind, payload)


def test_cuts_by_hand() -> None:
    """Operators read and write 6, 11, 10, 11, 10 and 3; no prices are needed for that."""
    assert check("live-cut/1", CUT) == 11
    assert check("live-cut/1", CUT, SUM) == 51
    # While operator 2 runs, something of the other branch is there, at least 1.
    priced = {**CUT, "cuts": [[2, [[2, 3, 1], [5, 4, 1], [6, 5, 1]]]]}
    assert check("live-cut/1", priced, SUM) == 52


def test_searches_by_hand() -> None:
    """All orders take 13, and 57 together; nobody can show more."""
    for sample, least in ((SAMPLE, 13), (SUM, 57)):
        assert check("downset-dp/1", {**SEARCH, "searches": [[0, least]]}, sample) == least
        with pytest.raises(checker.Rejected, match="costs less than it is said to"):
            check("downset-dp/1", {**SEARCH, "searches": [[0, least + 1]]}, sample)


def test_sections_add_up() -> None:
    """The first and the last operator are sections of their own; what is between is searched."""
    breakpoints = [{"forced": [1, 5]}]
    payload = {**SEARCH, "stops": breakpoints, "searches": [[1, 48]]}
    assert check("downset-dp/1", payload, SUM) == 57


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("live-cut/1", {**CUT, "stops": []}, "it has 'stops'"),
        ("live-cut/1", {"order": ORDER, "forced": []}, "it lacks cuts"),
        ("live-cut/1", {**CUT, "order": ORDER[1:]}, "does not have each operator once"),
        ("live-cut/1", {**CUT, "order": ORDER[::-1]}, "before one whose tensor it reads"),
        ("live-cut/1", {**CUT, "forced": [5, 1]}, "forced breakpoints are not ascending"),
        ("live-cut/1", {**CUT, "forced": [0]}, "a breakpoint is not between others"),
        ("live-cut/1", {**CUT, "forced": [6]}, "a breakpoint is not between others"),
        ("live-cut/1", {**CUT, "forced": [3]}, "an order need not pass a breakpoint"),
        ("live-cut/1", {**CUT, "cuts": {}}, "cuts of the payload is not a list"),
        ("live-cut/1", {**CUT, "cuts": [[1]]}, "a cut is not an operator of its own"),
        ("live-cut/1", {**CUT, "cuts": [[1, []], [1, []]]}, "a cut is not an operator of its own"),
        ("live-cut/1", {**CUT, "cuts": [[6, []]]}, "an operator that does not exist"),
        ("live-cut/1", {**CUT, "cuts": [[2, [[1, 3]]]]}, "not a tensor of the section, a reader"),
        ("live-cut/1", {**CUT, "cuts": [[2, [[8, 3, 1]]]]}, "not a tensor of the section"),
        ("live-cut/1", {**CUT, "cuts": [[2, [[1, 2, 1]]]]}, "does not read the tensor"),
        ("live-cut/1", {**CUT, "cuts": [[2, [[2, 3, 3]]]]}, "add up to more than its size"),
        ("live-cut/1", {**CUT, "cuts": [[2, [[2, 3, 1], [2, 3, -1]]]]}, "two prices for one"),
        ("downset-dp/1", {**SEARCH, "stops": {}}, "stops of the payload is not a list"),
        ("downset-dp/1", {**SEARCH, "stops": [SLOPE]}, "says nothing about the maximum"),
        ("downset-dp/1", {**SEARCH, "searches": [[1, 3]]}, "not a section of its own"),
        ("downset-dp/1", {**SEARCH, "searches": [[0, 3], [0, 4]]}, "not a section of its own"),
        ("downset-dp/1", {**SEARCH, "searches": [[0, 14]]}, "costs less than it is said"),
    ],
)  # fmt: skip
def test_payloads_that_prove_nothing(kind: str, payload: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check(kind, payload)


def test_a_breakpoint_by_its_slope() -> None:
    """Between the fork and the join, an optimal order passes the end of a branch: all is proven."""
    breakpoints = [{"forced": [1, 5]}, SLOPE]
    assert check("downset-dp/1", {**SEARCH, "stops": breakpoints}, SUM) == 57


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"at": 1}, "a breakpoint is not between others"),
        ({"at": 2}, "do not show that it is a minimum"),
        ({"slope": [-2, 2]}, "do not show that it is a minimum"),
        ({"slope": [1, 0]}, "not a number of bytes and a positive number of operators"),
        ({"slope": [1]}, "not a number of bytes and a positive number of operators"),
        ({"prices": []}, "do not show that it is a minimum"),
        ({"prices": [[1, 1, 5]]}, "add up to more than its size"),
        ({"forced": [2]}, "it has 'at'"),
    ],
)
def test_breakpoints_that_prove_nothing(change: dict[str, Any], expected: str) -> None:
    """Each is refused with what is wrong."""
    breakpoints = [{"forced": [1, 5]}, {**SLOPE, **change}]
    with pytest.raises(checker.Rejected, match=expected):
        check("downset-dp/1", {**SEARCH, "stops": breakpoints}, SUM)


def test_breakpoints_need_operators_that_always_do_the_same() -> None:
    """Behind a fork, an operator that overwrites if it comes last is no place for a slope."""
    sample = SUM.with_parameters({"in_place": "yes"})
    # Here, operator 1 can overwrite what operator 3 reads too.
    small = instance(
        6,
        [(2, -1, [0]), (2, 0, [1, 3]), (1, 1, [2]), *TENSORS[4:]],
        metric="sum",
        in_place="yes",
    )
    breakpoints = [{"forced": [1, 5]}, SLOPE]
    assert check("downset-dp/1", {**SEARCH, "stops": breakpoints}, sample)
    with pytest.raises(checker.Rejected, match="overwrites in some orders only"):
        check("downset-dp/1", {**SEARCH, "stops": breakpoints}, small)


def test_prices_above_zero_are_no_more_than_the_size() -> None:
    """Those below 0 take nothing away from them, and a tensor that stays has none above 0."""
    tensors = [(2, -1, [0]), (2, 0, [1, 2]), (1, 1, [3]), (1, 2, [3]), (1, 3, [])]
    both, kept = instance(4, tensors), instance(4, tensors, kept=[1])
    for sample, first, second, is_right in (
        (both, 2, -1, True), (both, 1, 1, True), (both, 3, -1, False), (both, 2, 1, False),
        (kept, 0, -1, True), (kept, -1, -1, True), (kept, 1, 0, False), (kept, 1, -1, False),
    ):  # fmt: skip
        cuts = [[3, [[1, 1, first], [1, 2, second]]]]
        payload = {"order": [0, 1, 2, 3], "forced": [], "cuts": cuts}
        if is_right:
            assert check("live-cut/1", payload, sample) > 0
        else:
            with pytest.raises(checker.Rejected, match="add up to more than its size, or it stays"):
                check("live-cut/1", payload, sample)


def test_the_last_operator_of_a_section_counts() -> None:
    """Operator 3 comes last in the order, and overwrites what 0 left if it does."""
    # A branch of two operators and one of one; 1 and 3 both read tensor 1.
    tensors = [
        (2, -1, [0]), (5, 0, [1, 3]), (6, 0, [1]), (9, 1, [2]), (1, 2, [4]), (5, 3, [4]),
        (1, 4, []),
    ]  # fmt: skip
    prices = [[1, 3, 5], [2, 1, 6], [3, 2, 5]]
    breakpoints = [{"forced": [1, 4]}, {"at": 3, "slope": [-1, 1], "prices": prices}]
    payload = {**SEARCH, "order": [0, 1, 2, 3, 4], "stops": breakpoints}
    assert check("downset-dp/1", payload, instance(5, tensors, metric="sum"))
    overwriting = instance(5, tensors, metric="sum", in_place="yes")
    with pytest.raises(checker.Rejected, match="overwrites in some orders only"):
        check("downset-dp/1", payload, overwriting)


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide searches are refused as too large, in time and in memory."""
    wide = instance(17, [(1, v, [16]) for v in range(16)], metric="sum")
    payload = {"order": list(range(17)), "stops": [], "cuts": [], "searches": [[0, 153]]}
    monkeypatch.setattr(budget, "MOST_STEPS", 2**17)
    with pytest.raises(checker.TooLarge, match="more than 131,072 steps"):
        check("downset-dp/1", payload, wide)
    monkeypatch.setattr(budget, "MOST_STEPS", 2**26)
    monkeypatch.setattr(budget, "MOST_CHECK_BYTES", 2**20)
    with pytest.raises(checker.TooLarge, match="of memory"):
        check("downset-dp/1", payload, wide)
