"""How much of what a test could try `nox -s tests` tries; `nox -s tests-all` tries all of it."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

# Examples of the profile that numbers of examples are given for.
USUAL = 100
FEWEST = 5

# Of the random instances that a definition of the checker is compared on.
FEW_SEEDS = 16


def examples(number: int) -> int:
    """Return how many examples to try where the usual profile tries so many."""
    return max(min(number, FEWEST), number * settings.default.max_examples // USUAL)


def first_now(values: Iterable[Any], few: int = 1) -> list[Any]:
    """Return parameters of a test of which all but the first few are slow."""
    return [
        value if number < few else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]
