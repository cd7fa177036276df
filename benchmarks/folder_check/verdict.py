"""The outcome of one check: accepted, or rejected for a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from boundmark.bounds import checker

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Verdict:
    """The outcome for one file or row; `reason` is None if it was accepted."""

    subject: str
    reason: str | None


def attempt(
    check: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> tuple[T | None, str | None]:
    """Return the result of a check and None, or None and the reason why it rejects.

    Whatever else the check raises is a reason too: one file never keeps others from being checked.
    """
    try:
        return check(*args, **kwargs), None
    except checker.Rejected as error:
        return None, str(error)
    except Exception as error:
        return None, f"its check ended with an error, {type(error).__name__}, so nothing is shown"
