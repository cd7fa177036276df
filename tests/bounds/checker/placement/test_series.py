from typing import Any

import pytest
from brute_force_placement import instance, optimum
from checking import proved

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
SAMPLE = instance([[1, 1], [5, 5], [5, 5], [1, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
WHOLE = {"first": -1, "last": -1, "rows": [], "searches": []}
STEPS = 10_000


def module(*searches: list[int], first: int = 0, last: int = 3) -> dict[str, Any]:
    """Return an interval with searches."""
    return {"first": first, "last": last, "rows": [], "searches": list(searches)}


def check(payload: Any, sample: PlacementInstance = SAMPLE) -> int:
    """Return what a payload proves."""
    return proved(sample, "series/1", payload)


def test_by_hand() -> None:
    """Both ends on one device: 10 in between. On two: a path there, 13, is more already."""
    same = [[0, 0, 9, STEPS], [1, 1, 9, STEPS]]
    assert check({"intervals": [WHOLE]}) == 7
    assert check({"intervals": [module(*same), WHOLE]}) == 12 == optimum(SAMPLE)
    # What is said of one device only leaves the other.
    assert check({"intervals": [module(same[0]), WHOLE]}) == 7
    # All at once.
    assert check({"intervals": [{**WHOLE, "searches": [[0, 0, 11, STEPS]]}]}) == 12


def test_rows_of_loads_count_too() -> None:
    """They are those of interval-load."""
    rows = [[0, 0, 9, 1, 0], [1, 1, 9, 0, 1]]
    assert check({"intervals": [{**module(), "rows": rows}, WHOLE]}) == 12


def test_what_runs_past_a_module_is_left_out() -> None:
    """A tensor from before the first operator to one in between, and one from there to behind."""
    edges = [(4, 0), *FORK_JOIN, (4, 1), (2, 5), (3, 5)]
    rows = [[1, 1], [5, 5], [5, 5], [1, 1], [0, 0], [0, 0]]
    sample = instance(rows, edges, times=[[0, 8, 8, 0]])
    with pytest.raises(checker.Rejected, match="does not wait for the first"):
        proved(sample, "interval-load/1", {"intervals": [{"first": 0, "last": 3, "rows": []}]})
    searches = [[0, 0, 9, STEPS], [1, 1, 9, STEPS]]
    assert check({"intervals": [module(*searches), WHOLE]}, sample) == 12


def test_intervals_inside_help_those_outside() -> None:
    """A search makes use of what was proven before it."""
    edges = [*FORK_JOIN, (3, 4), (0, 4)]
    sample = instance([[1, 1], [5, 5], [5, 5], [1, 1], [1, 1]], edges, times=[[0, 8, 8, 0]])
    inner = module([0, 0, 9, STEPS], [1, 1, 9, STEPS])
    outer = module([0, 0, 10, STEPS], [1, 1, 10, STEPS], last=4)
    assert check({"intervals": [inner, outer, WHOLE]}, sample) == 13 == optimum(sample)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({}, "it lacks intervals"),
        ({"intervals": []}, "is not the whole schedule"),
        ({"intervals": 3}, "intervals of the payload is not a list"),
        ({"intervals": [module()]}, "the last interval of the payload is not the whole"),
        ({"intervals": [{"first": -1, "last": -1, "rows": []}]}, "it lacks searches"),
        ({"intervals": [{**WHOLE, "searches": {}}]}, "searches of an interval is not a list"),
        ({"intervals": [{**WHOLE, "searches": [3]}]}, "a search of an interval is not a list"),
        ({"intervals": [{**WHOLE, "searches": [[0, 0, 6]]}]}, "two of its devices, a threshold"),
        ({"intervals": [{**WHOLE, "searches": [[0, 1, 6, STEPS]]}]}, "two of its devices"),
        ({"intervals": [{**WHOLE, "searches": [[1, 0, 6, STEPS]]}]}, "two of its devices"),
        ({"intervals": [module([0, 2, 6, STEPS])]}, "two of its devices"),
        ({"intervals": [module([0, 0, 2**60, STEPS])]}, "is more than 2\\^53"),
        ({"intervals": [module([0, 0, -1, STEPS])]}, "from 0 to"),
        ({"intervals": [module([0, 0, 10, STEPS])]}, "does not refute its threshold"),
        ({"intervals": [{**WHOLE, "searches": [[0, 0, 11, 3]]}]}, "in as many steps"),
        ({"intervals": [module(first=3, last=0)]}, "does not wait for the first"),
        ({"intervals": [module(first=1, last=2)]}, "does not wait for the first"),
        ({"intervals": [module(first=1, last=1)]}, "does not wait for the first"),
        ({"intervals": [module(first=4)]}, "first of an interval is not"),
        ({"intervals": [{**WHOLE, "rows": [[0, 0, 99, 1, 1]]}]}, "do not refute"),
    ],
)
def test_payloads_that_prove_nothing(payload: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check(payload)


def test_steps_are_counted_before_they_are_taken() -> None:
    """A search said to be long is refused at once, and so is a long one said to be short."""
    with pytest.raises(checker.TooLarge, match="steps"):
        check({"intervals": [{**WHOLE, "searches": [[0, 0, 11, budget.MOST_STEPS]]}]})
    wide = instance([[5, 5, 5]] * 24, [(0, v) for v in range(1, 24)])
    with pytest.raises(checker.Rejected, match="in as many steps"):
        check({"intervals": [{**WHOLE, "searches": [[0, 0, 39, 100_000]]}]}, wide)


def test_a_placement_of_operators_that_cannot_be_there() -> None:
    """An operator that only one device supports is searched there only."""
    sample = instance([[2, -1], [3, 4], [4, 4], [1, -1]], FORK_JOIN, times=[[0, 1, 2, 0]])
    best = int(optimum(sample))
    assert check({"intervals": [{**WHOLE, "searches": [[0, 0, best - 1, STEPS]]}]}, sample) == best
    with pytest.raises(checker.Rejected, match="does not refute"):
        check({"intervals": [{**WHOLE, "searches": [[0, 0, best, STEPS]]}]}, sample)
