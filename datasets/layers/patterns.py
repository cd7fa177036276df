"""Patterns of names in files that nobody vouches for, matched in a time linear in the name.

No pattern of a file is given to an engine that backtracks. A pattern becomes an automaton, whose
sets of states are found as names need them ([THOMPSON68]): characters, ``.``, classes, groups,
``|``, ``* + ? {m,n}``, ``^`` and ``$``. What an automaton cannot do, such as looking ahead, is
refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

MOST_CHARACTERS = 1000
MOST_STATES = 1000
DEEPEST = 50

_BEGIN, _END = "begin", "end"

# What leaves a state: to where, for which characters. None is for none; `_BEGIN` and `_END` hold at
# the ends of a name only.
_Test: TypeAlias = "Callable[[str], bool] | str | None"

_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": str.isdigit, "w": lambda one: one.isalnum() or one == "_", "s": str.isspace,
}  # fmt: skip


class PatternError(ValueError):
    """Raised for a pattern that is none, or that an automaton cannot do."""


@dataclass
class Pattern:
    """An automaton: for each state what leaves it, and the sets of states that names have led to.

    State 0 is the end.
    """

    leaving: list[list[tuple[_Test, int]]] = field(default_factory=lambda: [[]])
    first: int = 0
    steps: dict[tuple[frozenset[int], str], frozenset[int]] = field(default_factory=dict)

    def matches(self, name: str) -> bool:
        """Whether a beginning of a name is what the pattern means, as `re.match` has it."""
        now = self._reached({self.first}, is_begin=True)
        for one in name:
            if 0 in now:
                return True
            if (now, one) not in self.steps:
                self.steps[now, one] = self._reached(
                    {
                        to
                        for at in now
                        for test, to in self.leaving[at]
                        if callable(test) and test(one)
                    }
                )
            now = self.steps[now, one]
        return 0 in now or 0 in self._reached(set(now), is_begin=not name, is_end=True)

    def _reached(
        self, states: set[int], is_begin: bool = False, is_end: bool = False
    ) -> frozenset[int]:
        """Return all states that these lead to without a character."""
        waiting = list(states)
        while waiting:
            for test, to in self.leaving[waiting.pop()]:
                is_free = test is None or (test == _BEGIN and is_begin) or (test == _END and is_end)
                if is_free and to not in states:
                    states.add(to)
                    waiting.append(to)
        return frozenset(states)

    def state(self, *leaving: tuple[_Test, int]) -> int:
        """Add a state."""
        if len(self.leaving) >= MOST_STATES:
            raise PatternError(f"it has more than {MOST_STATES:,} states")
        self.leaving.append(list(leaving))
        return len(self.leaving) - 1


# A part of a pattern: adds its states before a given one, and returns its first.
_Part: TypeAlias = Callable[[int], int]


def read_pattern(text: str) -> Pattern:
    """Return the automaton of a regular expression; raises `PatternError`."""
    return _Reader(text).pattern()


def read_wildcards(text: str) -> Pattern:
    """Return the automaton of whole words, joined by points, with ``*`` for any characters."""
    pieces = [_escaped(piece) for piece in text.split("*")]
    return read_pattern(rf"(.*\.)?{'.*'.join(pieces)}(\.|$)")


def _escaped(text: str) -> str:
    return "".join(one if one.isalnum() or one == "_" else f"\\{one}" for one in text)


class _Reader:
    """Reads a pattern from left to right; every part is a function that adds its states."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise PatternError(f"it has more than {MOST_CHARACTERS:,} characters")
        self.text, self.at, self.automaton = text, 0, Pattern()

    def pattern(self) -> Pattern:
        part = self._choice(0)
        if self.at < len(self.text):
            raise PatternError("there is a ) too many")
        self.automaton.first = part(0)
        return self.automaton

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, what: str = "") -> str:
        """Return the next character, which has to be there."""
        one = self._next()
        if not one or (what and one != what):
            raise PatternError(f"{what or 'something'} is missing at its end")
        self.at += 1
        return one

    def _choice(self, depth: int) -> _Part:
        if depth > DEEPEST:
            raise PatternError(f"it has groups in each other, more than {DEEPEST} deep")
        parts = [self._row(depth)]
        while self._next() == "|":
            self.at += 1
            parts.append(self._row(depth))
        if len(parts) == 1:
            return parts[0]
        return lambda after: self.automaton.state(*((None, part(after)) for part in parts))

    def _row(self, depth: int) -> _Part:
        parts: list[_Part] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._one(depth)))

        def row(after: int) -> int:
            # A state even for nothing, so that repetitions of nothing are counted.
            after = after if parts else self.automaton.state((None, after))
            for part in reversed(parts):
                after = part(after)
            return after

        return row

    def _one(self, depth: int) -> _Part:
        one = self._take()
        if one == "(":
            if self._next() == "?":
                self.at += 1
                if self._take() != ":":
                    raise PatternError("it has a group with (?, which is not known but for (?:")
            inner = self._choice(depth + 1)
            self._take(")")
            return inner
        if one == "[":
            return self._single(self._class())
        if one in "^$":
            where = _BEGIN if one == "^" else _END
            return lambda after: self.automaton.state((where, after))
        if one in "*+?{":
            raise PatternError(f"{one} follows nothing that it could repeat")
        if one == ".":
            return self._single(lambda found: found != "\n")
        return self._single(self._escape() if one == "\\" else one.__eq__)

    def _single(self, test: Callable[[str], bool]) -> _Part:
        return lambda after: self.automaton.state((test, after))

    def _escape(self) -> Callable[[str], bool]:
        one = self._take()
        if one.lower() in _CLASSES:
            inner = _CLASSES[one.lower()]
            return inner if one.islower() else lambda found: not inner(found)
        if one.isalnum():
            raise PatternError(f"it has \\{one}, which is not known")
        return one.__eq__

    def _class(self) -> Callable[[str], bool]:
        is_other = self._next() == "^"
        self.at += is_other
        tests: list[Callable[[str], bool]] = []
        while not tests or self._next() != "]":
            one = self._take()
            if one == "\\":
                tests.append(self._escape())
            elif self._next() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self._take()
                if last == "\\" or last < one:
                    raise PatternError(f"it has a class from {one} to {last}")
                tests.append(_between(one, last))
            else:
                tests.append(one.__eq__)
        self._take("]")
        return lambda found: any(test(found) for test in tests) != is_other

    def _repeated(self, part: _Part) -> _Part:
        low, high = 1, 1
        sign = self._next()
        if sign not in ("*", "+", "?", "{"):
            return part
        self.at += 1
        if sign == "{":
            inside, closing, _ = self.text[self.at :].partition("}")
            least, comma, most = inside.partition(",")
            if not closing or not inside.strip(",").replace(",", "0").isdecimal():
                raise PatternError("it has a { without numbers and }")
            low = _count(least)
            high = low if not comma else _count(most) if most else -1
            self.at += len(inside) + 1
        else:
            low, high = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[sign]
        if 0 <= high < low:
            raise PatternError(f"it repeats something from {low} to {high} times")
        # Whether as much or as little as possible is taken makes no difference here.
        if self._next() == "?":
            self.at += 1
        if self._next() in ("*", "+", "{") and self._next():
            raise PatternError(f"{self._next()} follows nothing that it could repeat")
        return lambda after: self._chain(part, low, high, after)

    def _chain(self, part: _Part, low: int, high: int, after: int) -> int:
        """Add a part `low` to `high` times; -1 is without end."""
        automaton, end = self.automaton, after
        if high < 0:
            loop = automaton.state((None, after))
            automaton.leaving[loop].append((None, part(loop)))
            after = loop
        for _ in range(high - low):
            after = automaton.state((None, part(after)), (None, end))
        for _ in range(low):
            after = part(after)
        return after


def _between(first: str, last: str) -> Callable[[str], bool]:
    return lambda found: first <= found <= last


def _count(text: str) -> int:
    if len(text) > 4 or not (text or "0").isdecimal() or int(text or "0") > MOST_STATES:
        raise PatternError(f"it repeats something {text} times, and not 0 to {MOST_STATES:,}")
    return int(text or "0")
