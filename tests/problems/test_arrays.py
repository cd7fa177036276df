from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundmark.problems.arrays import frozen, non_negative_integers
from boundmark.problems.errors import InvalidInputError


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_integers_are_kept(values: list[int]) -> None:
    """Every list of 64-bit integers comes back as it was, read-only."""
    array = frozen(values)
    assert array.dtype == np.int64
    assert array.tolist() == values
    assert not array.flags.writeable


@given(st.floats(), st.sampled_from([np.float32, np.float64]))
def test_floats_are_kept_exactly_or_refused(value: float, dtype: type[np.floating]) -> None:
    """A float is accepted if and only if exact arithmetic says that it is a 64-bit integer."""
    with np.errstate(over="ignore"):
        given_value = np.array([value], dtype=dtype)
    number = float(given_value[0])
    is_finite = np.isfinite(number)
    exact = Fraction(number) if is_finite else None
    if exact is not None and exact.denominator == 1 and -(2**63) <= exact < 2**63:
        assert frozen(given_value).tolist() == [int(exact)]
    else:
        with pytest.raises(InvalidInputError, match=r"entry \[0\] of an array is"):
            frozen(given_value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 0.5], "entry [1] of costs is 0.5; expected an integer of 64 bits."),
        ([[0, 1], [2, -1e-9]], "entry [1, 1] of costs is -1e-09; expected an integer of 64 bits."),
        ([np.nan], "entry [0] of costs is nan; expected an integer of 64 bits."),
        ([0, np.inf], "entry [1] of costs is inf; expected an integer of 64 bits."),
        ([-np.inf], "entry [0] of costs is -inf; expected an integer of 64 bits."),
        ([2.0**63], "entry [0] of costs is 9.223372036854776e+18; expected an integer of 64 bits."),
        ([2**63], "entry [0] of costs is 9223372036854775808; expected an integer of 64 bits."),
        ([2**64, 1], f"entry [0] of costs is {2**64}; expected an integer of 64 bits."),
        ([1, None], "entry [1] of costs is None; expected an integer of 64 bits."),
        (["7"], "entry [0] of costs is 7; expected an integer of 64 bits."),
        ([True], "entry [0] of costs is True; expected an integer of 64 bits."),
        ([[1, 2], [3]], "rows of costs differ in length; expected an array of integers."),
    ],
)
def test_what_is_no_integer_is_named(values: object, message: str) -> None:
    """The error says where the first such entry is and what it is."""
    with pytest.raises(InvalidInputError) as raised:
        frozen(values, "costs")
    assert str(raised.value) == message


def test_the_copy_does_not_follow_its_source() -> None:
    """Instances are identified by their content, also if what they were made from changes."""
    source = np.array([1, 2])
    array = frozen(source)
    source[0] = 9
    assert array.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1], "work has 1 values; expected one for each of the 2 nodes."),
        ([1, -2], "work of node 'b' is -2; expected a non-negative integer."),
        ([1, 2.0], "work of node 'b' is 2.0; expected a non-negative integer."),
        ([True, 2], "work of node 'a' is True; expected a non-negative integer."),
        ([1, 2**63], f"work of node 'b' is {2**63}, beyond 64 bits; use a coarser tick."),
    ],
)
def test_costs_of_nodes_are_checked_by_name(values: list[object], message: str) -> None:
    """The error names field and node."""
    with pytest.raises(InvalidInputError) as raised:
        non_negative_integers(values, "work", ("a", "b"))
    assert str(raised.value) == message
