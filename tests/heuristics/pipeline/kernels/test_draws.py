"""Random numbers of kernels against published ones, and against their ranges."""

import numpy as np

from boundmark.heuristics.pipeline.kernels.draws import (
    draw_bits,
    draw_fraction,
    high_below,
    low_fraction,
    new_state,
)


def test_the_first_numbers_are_those_of_the_reference() -> None:
    """Of S. Vigna's splitmix64.c for the state 1234567."""
    state = np.array([1234567], np.uint64)
    assert [int(draw_bits(state)) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_numbers_stay_in_their_ranges() -> None:
    """Also at both ends of what bits can be."""
    none, all_ = np.uint64(0), np.uint64(2**64 - 1)
    assert (high_below(none, 7), high_below(all_, 7)) == (0, 6)
    assert low_fraction(none) == 0
    assert 0.999 < low_fraction(all_) < 1


def test_numbers_are_spread_evenly() -> None:
    """Each of eight values comes an eighth of the time, and fractions are 1/2 in the mean."""
    state = new_state(np.random.default_rng(1))
    values = [high_below(draw_bits(state), 8) for _ in range(4000)]
    assert np.bincount(values, minlength=8).min() > 400
    assert abs(np.mean([draw_fraction(state) for _ in range(4000)]) - 0.5) < 0.03
