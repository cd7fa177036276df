"""How much of what a test could try `nox -s tests` tries; `nox -s tests-all` tries all of it."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings

# Examples of the profile that numbers of examples are given for.
USUAL = 100
FEWEST = 5

# Of the random instances that a definition of the checker is compared on.
FEW_SEEDS = 16

Test = Callable[..., None]


def examples(number: int) -> int:
    """Return how many examples to try where the usual profile tries so many."""
    return max(min(number, FEWEST), number * settings.default.max_examples // USUAL)


def first_now(values: Iterable[Any], few: int = 1) -> list[Any]:
    """Return parameters of a test of which all but the first few are slow."""
    return [
        value if number < few else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]


def each_seed(seeds: Sequence[int], few: int = FEW_SEEDS) -> Callable[[Test], Test]:
    """Let a test run for some seeds, in one test the first few and in a slow one all others.

    A thousand tests of a millisecond take seconds to collect and to report.
    """

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*arguments: Any, seeds: Sequence[int], **named: Any) -> None:
            for seed in seeds:
                try:
                    test(*arguments, seed=seed, **named)
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise

        parameters = dict(inspect.signature(test).parameters)
        parameters["seeds"] = parameters.pop("seed").replace(
            name="seeds", kind=inspect.Parameter.KEYWORD_ONLY
        )
        run.__signature__ = inspect.Signature([*parameters.values()])
        parts = first_now([seeds[:few], seeds[few:]])
        return pytest.mark.parametrize("seeds", parts, ids=["few", "others"])(run)

    return decorate
