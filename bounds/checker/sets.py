"""Sets of small numbers as bits of an integer."""

from collections.abc import Iterable, Iterator


def as_bits(numbers: Iterable[int]) -> int:
    """Return a set of numbers as bits."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def members(bits: int) -> Iterator[int]:
    """Yield the numbers of a set, ascending."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
