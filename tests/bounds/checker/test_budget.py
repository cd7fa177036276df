import pytest

from boundmark.bounds import checker
from boundmark.bounds.checker import budget
from boundmark.bounds.checker.budget import hold, limited, spend


def test_steps_are_spent_once() -> None:
    """Each check has all steps, and no more."""
    for _ in range(2):
        with limited("a file"):
            spend(budget.MOST_STEPS - 1)
            spend(1)
            with pytest.raises(checker.TooLarge, match="more than 67,108,864 steps"):
                spend(1)


def test_an_inner_check_has_a_budget_of_its_own() -> None:
    """And leaves that of the outer one alone."""
    with limited("a file"):
        spend(budget.MOST_STEPS)
        with limited("a file"):
            spend(budget.MOST_STEPS)
        with pytest.raises(checker.TooLarge):
            spend(1)


def test_without_a_budget_there_is_no_limit() -> None:
    """Producers use parts of the checker as long as they like."""
    spend(10 * budget.MOST_STEPS)


def test_memory_is_refused_before_it_is_taken() -> None:
    """What a check holds is compared with the limit."""
    hold(budget.MOST_CHECK_BYTES)
    with pytest.raises(checker.TooLarge, match="more than 512 MiB of memory"):
        hold(budget.MOST_CHECK_BYTES + 1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "there is not enough memory for the check of a file"),
        (RecursionError(), "the values of a file are nested too deeply"),
    ],
)
def test_what_python_cannot_do_is_refused(error: Exception, reason: str) -> None:
    """The verdict is a rejection, not a traceback."""
    with pytest.raises(checker.Rejected, match=reason), limited("a file"):
        raise error
