from typing import Any

import pytest
from brute_force_placement import instance, optimum

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.problems.placement import PlacementInstance

FORK_JOIN = [(0, 1), (0, 2), (1, 3), (2, 3)]
# The fast device has room for one of two operators, and moving costs nothing.
SHORT = instance([[2, 6], [2, 6]], [(0, 1)], times=[[0, 0, 0, 0]], memory=[1, 1], capacity=[1, 2])
PATH = [[-1, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], [1, -1, 1, 0, 0, 0]]
NOTHING: dict[str, Any] = {"intervals": [], "arcs": [], "work": [0, 0], "memory": [0, 0]}


def check(payload: Any, sample: PlacementInstance = SHORT, bound: int = 0) -> int:
    """Return what a payload proves."""
    return checker.check_certificate(
        sample.to_json(),
        {
            "format": "boundmark-certificate/1", "instance_sha256": sample.sha256, "bound": bound,
            "problem": "placement", "kind": "path-prices/1", "payload": payload,
            "producer": "a test",
        },
    )  # fmt: skip


def test_memory_by_hand() -> None:
    """A price of 4 makes the fast device worth 6 for both, less 4 for its room: 8 altogether."""
    assert check({**NOTHING, "arcs": PATH}) == 4
    assert check({**NOTHING, "arcs": PATH, "memory": [4, 0]}) == 8 == optimum(SHORT)
    assert check({**NOTHING, "arcs": PATH, "memory": [5, 0]}) == 7
    # Prices of what is not short cost their room.
    assert check({**NOTHING, "arcs": PATH, "memory": [4, 1]}) == 6
    assert check({**NOTHING, "arcs": PATH, "memory": [0, 9]}) == 0


def test_work_by_hand() -> None:
    """Two operators without edges on two equal devices: half of both on each."""
    sample = instance([[3, 3], [3, 3], [6, 6]], [])
    assert check({**NOTHING, "work": [1, 1]}, sample) == 6 == optimum(sample)
    assert check({**NOTHING, "work": [1, 0]}, sample) == 0
    # A path and work, on average.
    arcs = [[-1, 2, 2, 0, 0, 0], [2, -1, 2, 0, 0, 0]]
    assert check({**NOTHING, "arcs": arcs, "work": [1, 1]}, sample) == 6


def test_what_arcs_take_over_counts_once() -> None:
    """Each end's device is forced, so the transfer between them is paid for."""
    sample = instance([[2, -1], [-1, 3]], [(0, 1)], times=[[0, 4, 5, 0]])
    for near, far in (([0, 0], [0, 0]), ([7, -3], [-5, 4])):
        arcs = [PATH[0], [0, 1, 1, *near, *far], PATH[2]]
        assert check({**NOTHING, "arcs": arcs}, sample) == 2 + 4 + 3 == optimum(sample)
    # Where devices are free, it is the cheaper of staying and moving that is paid for.
    free = instance([[2, 9], [9, 3]], [(0, 1)], times=[[0, 4, 5, 0]])
    assert check({**NOTHING, "arcs": PATH}, free) == 5
    moved = [PATH[0], [0, 1, 1, 0, -7, -6, 0], PATH[2]]
    assert check({**NOTHING, "arcs": moved}, free) == 5 + 4 == optimum(free)


def test_paths_that_part_and_meet() -> None:
    """What arrives at an operator is divided among what leaves it."""
    sample = instance([[1, 1], [5, 5], [7, 7], [1, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    arcs = [[-1, 0, 3, 0, 0, 0], [3, -1, 3, 0, 0, 0]]
    for (first, last), amount in zip(FORK_JOIN, (1, 2, 1, 2), strict=True):
        arcs.append([first, last, amount, 0, 0, 0, 0])
    # (5 + 7 + 7) / 3 in the middle, rounded up.
    assert check({**NOTHING, "arcs": arcs}, sample) == 1 + 7 + 1


def test_paths_lead_over_intervals() -> None:
    """On either device 10 in between, and the ends are on one of them: 12 instead of 7."""
    sample = instance([[1, 1], [5, 5], [5, 5], [1, 1]], FORK_JOIN, times=[[0, 8, 8, 0]])
    arcs = [[-1, 0, 1, 0, 0, 0], [0, 3, 1, 0, 0, 0, 0], [3, -1, 1, 0, 0, 0]]
    searches = [[0, 0, 9, 10_000], [1, 1, 9, 10_000]]
    module = {"first": 0, "last": 3, "rows": [], "searches": searches}
    assert check({**NOTHING, "arcs": arcs, "intervals": [module]}, sample) == 12 == optimum(sample)
    with pytest.raises(checker.Rejected, match="does not read what the first one writes"):
        check({**NOTHING, "arcs": arcs}, sample)
    # What is proven from the begin or to the end counts as well.
    whole = {"first": -1, "last": -1, "rows": [], "searches": [[0, 0, 11, 10_000]]}
    alone = [[-1, -1, 1, 0, 0]]
    assert check({**NOTHING, "arcs": alone, "intervals": [whole]}, sample) == 12
    assert check({**NOTHING, "arcs": alone}, sample) == 0


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"more": 1}, "it has 'more'"),
        ({"work": [0]}, "not one for each device"),
        ({"work": [0, -1]}, "from 0 to"),
        ({"memory": [0, -1]}, "from 0 to"),
        ({"arcs": {}}, "arcs of the payload is not a list"),
        ({"arcs": [[0, 1]]}, "at least three"),
        ({"arcs": []}, "no paths, and all prices of work are 0"),
        ({"arcs": [[0, 2, 1, 0, 0, 0, 0]]}, "an end of an arc is not"),
        ({"arcs": [[0, 1, -1, 0, 0, 0, 0]]}, "the amount of an arc is not"),
        ({"arcs": [[0, 1, 1, 0, 0, 0]]}, "a price for each device"),
        ({"arcs": [[-1, 1, 1, 0, 0, 0, 0]]}, "a price for each device"),
        ({"arcs": [[1, 0, 1, 0, 0, 0, 0]]}, "does not read what the first one writes"),
        ({"arcs": [[0, 0, 1, 0, 0, 0, 0]]}, "does not read what the first one writes"),
        ({"arcs": PATH[:2]}, "as many paths"),
        ({"arcs": PATH[1:]}, "as many paths"),
        ({"arcs": [PATH[0], [0, 1, 2, 0, 0, 0, 0], PATH[2]]}, "as many paths"),
        ({"intervals": {}}, "intervals of the payload is not a list"),
        ({"intervals": [{}]}, "it lacks first"),
    ],
)
def test_payloads_that_prove_nothing(changed: dict[str, Any], expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check({**NOTHING, "arcs": PATH, **changed})


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many arcs to an operator with many inputs are refused as too large."""
    star = instance([[1]] * 50, [(v, 49) for v in range(49)])
    arcs = [[-1, 0, 0, 0, 0], *([[0, 49, 0, 0, 0]] * 2000)]
    payload = {"intervals": [], "arcs": arcs, "work": [1], "memory": [0]}
    assert check(payload, star) == 50
    monkeypatch.setattr(budget, "MOST_STEPS", 2**16)
    with pytest.raises(checker.TooLarge, match="more than 65,536 steps"):
        check(payload, star)
