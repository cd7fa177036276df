"""Limits the time and the memory of a check; both are counted in advance.

A function that does more than to look at each value of a file once says so first, with `spend` or
`hold`. So a small file cannot keep the checker busy for hours, nor fill the memory: it is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .values import CheckFailed, Rejected, TooLarge

# A step takes a microsecond or less, on a machine of 2020.
MOST_STEPS = 2**26

# Of the values of a document, and of what a check makes of them. Instances of more than about a
# million edges are beyond this.
MOST_VALUE_BYTES = 2**30
MOST_CHECK_BYTES = 2**29

_steps_left: ContextVar[int | None] = ContextVar("_steps_left", default=None)


@contextmanager
def limited(what: str, most_steps: int | None = None) -> Iterator[None]:
    """Give the code in this context a budget of steps; outside of one, `spend` has no limit.

    Nothing but rejections leaves the context, so that one file never keeps others from being
    checked.
    """
    token = _steps_left.set(MOST_STEPS if most_steps is None else most_steps)
    try:
        yield
    except Rejected:
        raise
    except MemoryError:
        raise TooLarge(f"there is not enough memory for the check of {what}") from None
    except RecursionError:
        raise Rejected(f"the values of {what} are nested too deeply") from None
    except Exception as error:
        raise CheckFailed(
            f"the check of {what} ended with an error of the checker itself, "
            f"{type(error).__name__}, so nothing is shown"
        ) from error
    finally:
        _steps_left.reset(token)


def steps_left() -> int | None:
    """Return the steps that are left; None outside of a budget."""
    return _steps_left.get()


def spend(steps: int) -> None:
    """Take steps from the budget."""
    left = _steps_left.get()
    if left is None:
        return
    if steps > left:
        raise TooLarge(f"the check takes more than {MOST_STEPS:,} steps")
    _steps_left.set(left - steps)


def hold(size: int) -> None:
    """Refuse a check that is about to hold too many bytes."""
    if size > MOST_CHECK_BYTES:
        raise TooLarge(f"the check takes more than {MOST_CHECK_BYTES >> 20} MiB of memory")
