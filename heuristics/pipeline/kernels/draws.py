"""Random numbers inside kernels: SplitMix64 ([STEELE14], Section 3).

A number takes about two nanoseconds, and only those are drawn that a move needs. Filling an array
with all that it might need took 13 of 120 nanoseconds.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types

from boundmark.heuristics.pipeline.kernels.compiling import inlined

State: TypeAlias = npt.NDArray[np.uint64]
STATE = types.uint64[::1]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def new_state(generator: np.random.Generator) -> State:
    """Return a state drawn from a generator, shape (1,)."""
    return generator.integers(0, 2**64, 1, np.uint64)


@inlined([types.uint64(STATE)])
def draw_bits(state: State) -> int:
    """Return 64 random bits."""
    state[0] += _STEP
    bits = state[0]
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))  # type: ignore[no-any-return]


@inlined([types.int64(types.uint64, types.int64)])
def high_below(bits: int, end: int) -> int:
    """Return a number from 0 to end - 1, end below 2^32, that follows from the higher 32 bits."""
    return np.int64(((bits >> _HALF) * np.uint64(end)) >> _HALF)  # type: ignore[return-value]


@inlined([types.float64(types.uint64)])
def low_fraction(bits: int) -> float:
    """Return a number from 0 to 1, 1 excluded, that follows from the lower 32 bits."""
    return np.float64(bits & _LOW) * 2.0**-32


@inlined([types.float64(STATE)])
def draw_fraction(state: State) -> float:
    """Return a number from U(0, 1)."""
    return np.float64(draw_bits(state) >> np.uint64(11)) * 2.0**-53
