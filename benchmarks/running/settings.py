"""Limits and seeds that all tasks of a run share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from boundmark.problems.errors import InvalidInputError, quoted

GIB = 2**30

# Memory that a method gets if nobody says.
USUAL_GIB = 4.0

# Beyond these, a number is a slip of the finger, and clocks and columns of results overflow.
LONGEST_SECONDS = 365 * 24 * 3600
LARGEST_GIB = 2**20
MOST_THREADS = 2**12
# Each has up to six processes.
MOST_WORKERS = 2**10
# Every solver and generator takes so large a seed.
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class RunSettings:
    """The limits of each task, and the seeds.

    Attributes
    ----------
    time_limit_seconds
        Wall time.
    memory_limit_bytes
        For all processes of a task together.
    threads
        For solvers, BLAS and OpenMP.
    seeds
        Methods that use a seed run once for each; the others once.
    """

    time_limit_seconds: float
    memory_limit_bytes: int
    threads: int = 1
    seeds: tuple[int, ...] = (1,)

    @classmethod
    def checked(
        cls,
        *,
        time_limit_seconds: object,
        memory_limit_gib: object,
        threads: object = 1,
        seeds: Sequence[object] = (1,),
    ) -> "RunSettings":
        """Check a user's values and return the settings."""
        return cls(
            positive_number("time_limit_seconds", time_limit_seconds, LONGEST_SECONDS),
            max(1, int(positive_number("memory_limit_gib", memory_limit_gib, LARGEST_GIB) * GIB)),
            bounded_integer("threads", threads, 1, MOST_THREADS),
            tuple(bounded_integer("one of seeds", seed, 0, LARGEST_SEED) for seed in seeds),
        )

    @classmethod
    def of_search(
        cls, seconds: object, seed: object, memory_gib: object = USUAL_GIB
    ) -> "RunSettings":
        """Check a user's values and return the settings of methods with one seed."""
        # Takes long to import.
        from boundmark.problems.arrays import plain_value

        return cls.checked(
            time_limit_seconds=positive_number("seconds", plain_value(seconds), LONGEST_SECONDS),
            memory_limit_gib=memory_gib,
            seeds=(bounded_integer("seed", plain_value(seed), 0, LARGEST_SEED),),
        )

    def with_limits(self, seconds: float | None, memory_gib: float | None) -> "RunSettings":
        """Return the settings with other limits, as far as they are given."""
        return RunSettings.checked(
            time_limit_seconds=self.time_limit_seconds if seconds is None else seconds,
            memory_limit_gib=self.memory_limit_bytes / GIB if memory_gib is None else memory_gib,
            threads=self.threads,
            seeds=self.seeds,
        )


def positive_number(name: str, value: object, largest: int) -> float:
    """Check that a value is a number above 0 and at most a largest one, and return it."""
    # Integers are compared as they are: those of a thousand digits are no floating-point numbers.
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_number = isinstance(value, int) or math.isfinite(value)
        if is_number and 0 < value <= largest:
            return value
    raise InvalidInputError(
        f"{name} is {quoted(value)}; expected a positive number of at most {largest}."
    )


def bounded_integer(name: str, value: object, least: int, largest: int) -> int:
    """Check that a value is an integer in a range, and return it."""
    if type(value) is int and least <= value <= largest:
        return value
    raise InvalidInputError(
        f"{name} is {quoted(value)}; expected an integer from {least} to {largest}."
    )
