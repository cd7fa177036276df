"""Checks VIPR files (Cheung, Gleixner, Steffy, version 1.0), written from the format alone.

Everything is computed in fractions. Of the format it knows what is needed for a lower bound on a
minimum: `asm`, `lin`, `rnd` and `uns`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

SIGNS = {"G": 1, "L": -1, "E": 0}


class RejectedError(Exception):
    """The file does not show what it claims; the message says why."""


def require(holds: bool, reason: str) -> None:
    """Raise `RejectedError` unless a condition holds."""
    if not holds:
        raise RejectedError(reason)


@dataclass(frozen=True)
class Constraint:
    """``terms x >= right`` for sign 1, ``<=`` for -1, ``=`` for 0."""

    terms: dict[int, Fraction]
    sign: int
    right: Fraction
    assumptions: frozenset[int] = frozenset()

    @property
    def is_absurd(self) -> bool:
        """Whether nothing satisfies it."""
        low, high = self.sign >= 0 and self.right > 0, self.sign <= 0 and self.right < 0
        return not self.terms and (low or high)

    def dominates(self, other: "Constraint") -> bool:
        """Whether the other follows at once."""
        if self.is_absurd:
            return True
        if self.terms != other.terms or self.sign not in (0, other.sign):
            return False
        if other.sign == 0:
            return self.right == other.right
        return other.sign * self.right >= other.sign * other.right


@dataclass
class Program:
    """What a file states: the program, and the bound it is about to prove.

    Attributes
    ----------
    rows
        The program's constraints; derived ones are not among them.
    derivations
        How many there were.
    """

    names: list[str]
    integers: set[int]
    objective: dict[int, Fraction]
    rows: list[Constraint]
    bound: Fraction
    derivations: int = 0


def tokens(text: str) -> Iterator[str]:
    """Yield what stands between white space, without comment lines."""
    for line in text.splitlines():
        if not line.startswith("%"):
            yield from line.split()


class Reader:
    """Reads a file and checks each derivation on the way."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.known: list[Constraint] = []
        self.labels: set[str] = set()

    def word(self, *expected: str) -> str:
        """Return the next token, which must be one of those expected, if any are."""
        token = next(self.tokens, "")
        require(bool(token) and (not expected or token in expected), f"{token!r} out of place")
        return token

    def integer(self, below: int | None = None) -> int:
        """Return an integer of at least 0."""
        token = self.word()
        require(token.isdecimal(), f"{token!r} is not a count")
        require(below is None or int(token) < below, f"{token} is out of range")
        return int(token)

    def value(self) -> Fraction:
        """Return a rational number."""
        token = self.word()
        try:
            return Fraction(token)
        except (ValueError, ZeroDivisionError):
            raise RejectedError(f"{token!r} is not a number") from None

    def pairs(self, count: int, below: int) -> dict[int, Fraction]:
        """Return numbers by index, without zeros."""
        result = {}
        for _ in range(count):
            index, value = self.integer(below), self.value()
            require(index not in result, f"index {index} is repeated")
            result[index] = value
        return {index: value for index, value in result.items() if value}

    def program(self) -> Program:
        """Return what stands before the derivations."""
        self.word("VER")
        self.word("1.0")
        self.word("VAR")
        names = [self.word() for _ in range(self.integer())]
        self.columns = len(names)
        require(len(set(names)) == self.columns, "a column's name is repeated")
        self.word("INT")
        self.integers = {self.integer(self.columns) for _ in range(self.integer())}
        self.word("OBJ")
        self.word("min")
        self.objective = self.pairs(self.integer(), self.columns)
        self.word("CON")
        count, bounds = self.integer(), self.integer()
        for i in range(count):
            row = self.constraint()
            require(i >= bounds or len(row.terms) == 1, f"constraint {i} is not a bound")
            self.known.append(row)
        self.word("RTP")
        self.word("range")
        bound = self.value()
        self.word("inf")
        self.word("SOL")
        self.word("0")
        return Program(names, self.integers, self.objective, list(self.known), bound)

    def constraint(self) -> Constraint:
        """Return a constraint as it is written."""
        label = self.word()
        require(label not in self.labels, f"name {label} is repeated")
        self.labels.add(label)
        sign, right = SIGNS[self.word(*SIGNS)], self.value()
        count = self.word()
        if count == "OBJ":
            return Constraint(self.objective, sign, right)
        require(count.isdecimal(), f"{count!r} is not a count")
        return Constraint(self.pairs(int(count), self.columns), sign, right)

    def derivation(self) -> None:
        """Check the next derived constraint."""
        goal = self.constraint()
        self.word("{")
        reason = self.word("asm", "lin", "rnd", "uns")
        if reason == "asm":
            assumptions = frozenset({len(self.known)})
        elif reason == "uns":
            assumptions = self.either(goal)
        else:
            found = self.combination()
            if reason == "rnd":
                found = self.rounded(found)
            require(found.dominates(goal), f"{found} does not show {goal}")
            assumptions = found.assumptions
        self.word("}")
        self.word("-1")
        self.known.append(Constraint(goal.terms, goal.sign, goal.right, assumptions))

    def combination(self) -> Constraint:
        """Return the sum of constraints times multipliers."""
        terms: Counter[int] = Counter()
        right, signs, assumptions = Fraction(0), set(), frozenset[int]()
        for index, multiplier in self.pairs(self.integer(), len(self.known)).items():
            part = self.known[index]
            for column, amount in part.terms.items():
                terms[column] += multiplier * amount  # type: ignore[assignment]
            right += multiplier * part.right
            signs.add(part.sign * (1 if multiplier > 0 else -1))
            assumptions |= part.assumptions
        signs -= {0}
        require(len(signs) <= 1, "the signs of a combination differ")
        kept = {column: Fraction(amount) for column, amount in terms.items() if amount}
        return Constraint(kept, signs.pop() if signs else 0, right, assumptions)

    def rounded(self, found: Constraint) -> Constraint:
        """Return a constraint on integers with its right side rounded."""
        require(found.sign != 0 and self.is_integral(found), "a sum cannot be rounded")
        right = Fraction(ceil(found.right) if found.sign > 0 else floor(found.right))
        return Constraint(found.terms, found.sign, right, found.assumptions)

    def either(self, goal: Constraint) -> frozenset[int]:
        """Return the assumptions of a constraint that holds in both of two cases."""
        first, low, second, high = (self.integer(len(self.known)) for _ in range(4))
        sides = [self.known[low], self.known[high]]
        sides.sort(key=lambda side: side.sign)
        at_most, at_least = sides
        require((at_most.sign, at_least.sign) == (-1, 1), "the cases are not opposite")
        require(at_most.terms == at_least.terms, "the cases are about different sums")
        require(self.is_integral(at_most) and at_most.right.denominator == 1, "cases between")
        require(at_most.right + 1 == at_least.right, "the cases leave a gap")
        require(self.known[first].dominates(goal), "the first case does not show it")
        require(self.known[second].dominates(goal), "the second case does not show it")
        return (self.known[first].assumptions - {low}) | (self.known[second].assumptions - {high})

    def is_integral(self, found: Constraint) -> bool:
        """Whether its left side is an integer at all integer points."""
        return found.terms.keys() <= self.integers and all(
            amount.denominator == 1 for amount in found.terms.values()
        )


def check(path: Path) -> Program:
    """Return what a file states, having checked that it proves it.

    Raises
    ------
    RejectedError
        If it does not.
    """
    reader = Reader(path.read_text())
    program = reader.program()
    reader.word("DER")
    program.derivations = reader.integer()
    require(program.derivations > 0, "nothing is derived")
    for _ in range(program.derivations):
        reader.derivation()
    require(next(reader.tokens, "") == "", "the file goes on")
    last = reader.known[-1]
    require(not last.assumptions, "the last constraint rests on assumptions")
    goal = Constraint(program.objective, 1, program.bound)
    require(last.dominates(goal), "the last constraint is not the bound")
    return program
