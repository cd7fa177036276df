from types import SimpleNamespace
from typing import Any

import pytest

from boundmark.problems import method
from boundmark.problems.errors import InvalidInputError
from boundmark.problems.method import Budget


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list whose only entry is the time."""
    now = [100.0]
    monkeypatch.setattr(method, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"problem": None}, "problem of method 'm' is None; expected a text"),
        ({"kind": "guess"}, "kind of method 'm' is 'guess'; expected heuristic or bound or exact"),
        ({"run": None}, "run of method 'm' is None; expected a function"),
        ({"params": None}, "params of method 'm' is None; expected names with texts"),
        ({"params": {"a": []}}, r"params of method 'm' is \{'a': \[\]\}; expected names"),
        ({"version": "2"}, "version of method 'm' is '2'; expected an integer"),
        ({"requires": "numpy"}, "requires of method 'm' is 'numpy'; expected a tuple of texts"),
    ],
)
def test_a_method_that_is_none_is_refused(given: dict[str, Any], told: str) -> None:
    """The field, what it is and what was expected."""
    right = {"name": "m", "problem": "p", "kind": "bound", "summary": "s", "run": print}
    with pytest.raises(InvalidInputError, match=told):
        method.Method(**{**right, **given})


def test_a_budget_counts_from_its_start(clock: list[float]) -> None:
    """What is spent and what is left add up to the limit until the time is up."""
    budget = Budget(10.0, started=98.0)
    assert (budget.spent(), budget.remaining(), budget.is_spent()) == (2.0, 8.0, False)
    clock[0] = 108.0
    assert (budget.spent(), budget.remaining(), budget.is_spent()) == (10.0, 0.0, True)
    clock[0] = 120.0
    assert (budget.spent(), budget.remaining(), budget.is_spent()) == (22.0, 0.0, True)


def test_a_part_starts_now_and_keeps_what_else_is_allowed(clock: list[float]) -> None:
    """Half of what is left, with the same memory and threads, and never beyond the whole."""
    whole = Budget(10.0, memory_bytes=123, threads=3, started=100.0)
    clock[0] = 104.0
    part = whole.part(0.5)
    assert part == Budget(3.0, memory_bytes=123, threads=3, started=104.0)
    clock[0] = 107.0
    assert part.is_spent()
    assert whole.remaining() == 3.0
    assert whole.part(1.0).remaining() == whole.remaining()


def test_a_part_of_nothing_is_spent(clock: list[float]) -> None:
    """A step that comes too late has no time."""
    budget = Budget(1.0, started=100.0)
    clock[0] = 105.0
    assert budget.part(0.5).is_spent()
