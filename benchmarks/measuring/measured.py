"""Keep the times that runtimes measure, and make the random inputs that models run on."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boundmark.problems.errors import BoundmarkError

# Runs that do not count, before those that do.
WARM_UP = 2

# A shared processor's clock changes within seconds: stages that are compared run so often in turn,
# after runs that do not count, which take less time than the others.
TURN = 5

SEED = 1

# From this ratio of a run's wall time to its thread's time on the processor, a user is told of it.
MUCH_WAITING = 1.1


@dataclass(frozen=True)
class Measured:
    """Times of a model's operators, and of the model in one piece.

    Attributes
    ----------
    samples
        Nanoseconds of each operator in each run, by name.
    whole
        Nanoseconds of the whole model in each run, without clocks in between.
    eager_wall
        The same as its program launches it, where that is something else.
    unattributed
        Nanoseconds in each run that are part of no operator, if that is known.
    untimed
        Why operators have no time of their own, by name, a sentence each.
    failed
        Those of them that could not be timed at all, and have no samples.
    notes
        What else one has to know about the times, as sentences.
    waited
        Wall time of a run over the time that its one thread had the processor.
    """

    samples: Mapping[str, Sequence[int]]
    whole: Sequence[int] = ()
    eager_wall: Sequence[int] = ()
    unattributed: Sequence[int] = ()
    untimed: Mapping[str, str] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    waited: float = 1.0


def random_input(name: str, extents: Sequence[int], kind: str) -> Any:
    """Draw values for an input; integers are 0 and 1, which are indices of most things."""
    generator = np.random.default_rng(SEED)
    try:
        dtype = np.dtype(kind)
    except TypeError as error:
        raise BoundmarkError(
            f"input {name!r} has elements of type {kind}, for which no values can be drawn."
        ) from error
    if dtype.kind == "f":
        return generator.standard_normal(tuple(extents)).astype(dtype)
    return generator.integers(0, 2, tuple(extents)).astype(dtype)


def clock_of(threads: int) -> Callable[[], int]:
    """Return a clock in nanoseconds for what runs on a processor.

    With one thread, it is that thread's time on the processor, in which other processes have no
    part; several share out the work, and only wall time says how long that takes.
    """
    return time.thread_time_ns if threads == 1 else time.perf_counter_ns


def waiting(waited: float) -> list[str]:
    """Return a sentence where a run took much longer by the clock than its thread did."""
    if waited <= MUCH_WAITING:
        return []
    return [
        f"other processes were in the way: by the clock, a run took {waited:.1f} times as long as "
        "its thread had the processor, which is what counts"
    ]
