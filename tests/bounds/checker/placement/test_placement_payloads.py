from typing import Any

import pytest
from brute_force_placement import instance
from checking import proved

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.problems.placement import PlacementInstance

SAMPLE = instance(
    [[1, 1], [5, 5], [5, 5], [1, 1]], [(0, 1), (0, 2), (1, 3), (2, 3)], times=[[0, 8, 8, 0]]
)
WHOLE = {"first": -1, "last": -1, "rows": []}
MODULE = {"first": 0, "last": 3, "rows": [[0, 0, 9, 1, 0]]}


def check(kind: str, payload: Any, sample: PlacementInstance = SAMPLE) -> int:
    """Return what a payload proves."""
    return proved(sample, kind, payload)


def test_by_hand() -> None:
    """Paths take 7, and half the work 6."""
    assert check("critical-path/1", {}) == 7
    assert check("assignment-load/1", {"weights": [1, 1], "memory_weights": [0, 0]}) == 6
    assert check("interval-load/1", {"intervals": [WHOLE]}) == 7


def test_intervals_are_used_by_those_that_follow() -> None:
    """On either device, the middle takes 10; with ends on two devices, at least 5 + 8."""
    both = {**MODULE, "rows": [[0, 0, 9, 1, 0], [1, 1, 9, 0, 1]]}
    assert check("interval-load/1", {"intervals": [both, WHOLE]}) == 12
    # Otherwise, the ends are on the device of which nothing is said.
    assert check("interval-load/1", {"intervals": [MODULE, WHOLE]}) == 7


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("critical-path/1", {"node": 1}, "it has 'node'"),
        ("assignment-load/1", {"weights": [1, 1]}, "it lacks memory_weights"),
        ("assignment-load/1", {"weights": [0, 0], "memory_weights": [1, 1]}, "all weights of the"),
        ("assignment-load/1", {"weights": [1], "memory_weights": [1, 1]}, "not one for each"),
        ("assignment-load/1", {"weights": [1, -1], "memory_weights": [0, 0]}, "from 0 to"),
        ("interval-load/1", {"intervals": []}, "is not the whole schedule"),
        ("interval-load/1", {"intervals": 3}, "intervals of the payload is not a list"),
        ("interval-load/1", {"intervals": [MODULE]}, "the last interval of the payload is not the"),
        ("interval-load/1", {"intervals": [{**WHOLE, "first": 4}]}, "first of an interval is not"),
        ("interval-load/1", {"intervals": [{**WHOLE, "first": 3}]}, "is not the whole schedule"),
        ("interval-load/1", {"intervals": [{**WHOLE, "first": 1}]}, "does not wait for the first"),
        ("interval-load/1", {"intervals": [{**MODULE, "last": 0}]}, "does not wait for the first"),
        ("interval-load/1", {"intervals": [{**MODULE, "first": 3, "last": 0}]}, "does not wait"),
        ("interval-load/1", {"intervals": [{**WHOLE, "rows": {}}]}, "rows of an interval is not a"),
        ("interval-load/1", {"intervals": [{**WHOLE, "rows": [[0, 1, 2, 1, 1]]}]}, "two of its"),
        ("interval-load/1", {"intervals": [{**WHOLE, "rows": [[0, 0, 2, 1]]}]}, "two of its"),
        (
            "interval-load/1",
            {"intervals": [{**MODULE, "rows": [[0, 0, 10, 1, 0]]}]},
            "do not refute its threshold",
        ),
        (
            "interval-load/1",
            {"intervals": [{**MODULE, "rows": [[0, 0, 9, 0, 1]]}]},
            "do not refute its threshold",
        ),
    ],
)  # fmt: skip
def test_payloads_that_prove_nothing(kind: str, payload: Any, expected: str) -> None:
    """Each is refused with what is wrong."""
    with pytest.raises(checker.Rejected, match=expected):
        check(kind, payload)


def test_memory_counts() -> None:
    """The fast device has room for one operator: weights of its memory show that."""
    sample = instance([[2, 6], [2, 6]], [], memory=[1, 1], capacity=[1, 2])
    assert check("assignment-load/1", {"weights": [0, 1], "memory_weights": [6, 0]}, sample) == 6
    alone = instance([[2, 6], [2, 6]], [], memory=[2, 1], capacity=[1, 3])
    assert check("critical-path/1", {}, alone) == 6


def test_what_follows_the_first_operator_alone() -> None:
    """An interval may begin with an operator and end with the schedule."""
    sample = instance([[1, 1], [5, 5], [5, 5]], [(0, 1), (0, 2)], times=[[0, 8, 8, 0]])
    after = {"first": 0, "last": -1, "rows": [[0, 0, 9, 1, 0], [1, 0, 9, 0, 1]]}
    assert check("interval-load/1", {"intervals": [after, WHOLE]}, sample) == 11


def test_work_is_counted_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many intervals are refused as too large, and so are intervals of many devices."""
    sample = instance([[1] * 8] * 50, [(v, v + 1) for v in range(49)])
    monkeypatch.setattr(budget, "MOST_STEPS", 2**17)
    with pytest.raises(checker.TooLarge, match="more than 131,072 steps"):
        check("interval-load/1", {"intervals": [WHOLE] * 100}, sample)
    with pytest.raises(checker.TooLarge, match="of memory"):
        check("interval-load/1", {"intervals": [WHOLE] * 200_000}, sample)
    monkeypatch.setattr(budget, "MOST_CHECK_BYTES", 2**18)
    with pytest.raises(checker.TooLarge, match="of memory"):
        check("interval-load/1", {"intervals": [{**MODULE, "last": 49, "rows": []}]}, sample)


def test_intervals_of_nothing_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """To find that nothing is in between takes a look at all operators, or at all inputs."""
    chain = instance([[1]] * 50, [(v, v + 1) for v in range(49)])
    star = instance([[1]] * 50, [(v, 49) for v in range(49)])
    for sample, value in (
        (chain, {"first": 49, "last": -1, "rows": []}),
        (star, {"first": 0, "last": 49, "rows": []}),
    ):
        monkeypatch.setattr(budget, "MOST_STEPS", 2**20)
        with pytest.raises(checker.Rejected, match=r"whole schedule|does not wait"):
            check("interval-load/1", {"intervals": [value]}, sample)
        monkeypatch.setattr(budget, "MOST_STEPS", 49)
        with pytest.raises(checker.TooLarge):
            check("interval-load/1", {"intervals": [value]}, sample)
