"""Limits the time and the memory of a check: both are counted before they are taken.

A function that does more than to look at each value of a file once says so first, with `spend` or
`hold`. So a small file cannot keep the checker busy for hours, nor fill the memory: it is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .values import Rejected, TooLarge

# A step takes a microsecond or less, on a machine of 2020.
MOST_STEPS = 2**26

# Of the values of a document, and of what a check makes of them. Instances of more than about a
# million edges are beyond this.
MOST_VALUE_BYTES = 2**30
MOST_CHECK_BYTES = 2**29

_steps_left: ContextVar[int | None] = ContextVar("_steps_left", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Give what is done in this context a budget; outside of one, `spend` has no limit.

    Raises
    ------
    TooLarge
        If memory is short all the same, or if values are nested too deeply.
    """
    token = _steps_left.set(MOST_STEPS)
    try:
        yield
    except MemoryError:
        raise TooLarge("there is not enough memory for the check") from None
    except RecursionError:
        raise Rejected("the values are nested too deeply") from None
    finally:
        _steps_left.reset(token)


def spend(steps: int) -> None:
    """Take steps from the budget.

    Raises
    ------
    TooLarge
        If there are not as many left.
    """
    left = _steps_left.get()
    if left is None:
        return
    if steps > left:
        raise TooLarge(f"the check takes more than {MOST_STEPS:,} steps")
    _steps_left.set(left - steps)


def hold(size: int) -> None:
    """Say how many bytes a check is about to hold.

    Raises
    ------
    TooLarge
        If they are too many.
    """
    if size > MOST_CHECK_BYTES:
        raise TooLarge(f"the check takes more than {MOST_CHECK_BYTES >> 20} MiB of memory")
