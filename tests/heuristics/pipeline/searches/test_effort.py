"""Effort by evaluations and by the clock."""

import math

from boundmark.heuristics.pipeline.searches.effort import Effort
from boundmark.problems.method import Budget


def test_evaluations_are_taken_until_none_are_left() -> None:
    """The last step is as long as what is left."""
    effort = Effort(Budget(60), 50)
    assert [effort.take(20) for _ in range(4)] == [20, 20, 10, 0]
    assert effort.spent() == 1
    assert effort.is_spent()


def test_without_a_limit_the_clock_decides() -> None:
    """Any number of evaluations may be taken while there is time."""
    effort = Effort(Budget(60), None)
    assert effort.take(1000) == 1000
    assert 0 <= effort.spent() < 0.5
    assert not effort.is_spent()


def test_time_counts_from_when_the_effort_begins() -> None:
    """What was spent of the budget before does not count."""
    budget = Budget(100)
    effort = Effort(Budget(100, started=budget.started - 90), None)
    assert math.isclose(effort.spent(), 0, abs_tol=0.5)


def test_nothing_to_spend_is_spent() -> None:
    """Neither by evaluations nor by time."""
    for effort in (Effort(Budget(60), 0), Effort(Budget(0), None)):
        assert effort.spent() == 1
        assert effort.is_spent()
