"""Lines of a VIPR derivation, written as they are found."""

from collections.abc import Iterable
from typing import TextIO


class Derivation:
    """Writes derived constraints and numbers them.

    Attributes
    ----------
    lines
        How many there are.
    """

    def __init__(self, file: TextIO, first: int) -> None:
        self._file = file
        self._first = first
        self.lines = 0

    def assume(self, constraint: str) -> int:
        """Write an assumption; return its number."""
        return self._line(constraint, "asm")

    def add(
        self, constraint: str, parts: Iterable[tuple[int, object]], rounded: bool = False
    ) -> int:
        """Write a constraint that the sum of others, times multipliers, dominates.

        Parameters
        ----------
        rounded
            Whether the sum's right side is rounded first, which integer columns allow.
        """
        written = [f"{number} {multiplier}" for number, multiplier in parts]
        kind = "rnd" if rounded else "lin"
        return self._line(constraint, " ".join([kind, str(len(written)), *written]))

    def join(self, constraint: str, sides: Iterable[tuple[int, int]]) -> int:
        """Write a constraint that holds under either of two assumptions, of which one is true.

        Parameters
        ----------
        sides
            Two pairs: what follows, and from which assumption.
        """
        written = [f"{number} {assumption}" for number, assumption in sides]
        return self._line(constraint, " ".join(["uns", *written]))

    def _line(self, constraint: str, reason: str) -> int:
        number = self._first + self.lines
        # The last field would say when a checker may forget the line; -1 is never.
        self._file.write(f"d{number} {constraint} {{ {reason} }} -1\n")
        self.lines += 1
        return number
