"""Shell patterns that choose tasks by their labels, also before the instances are loaded."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Self


@dataclass(frozen=True)
class LabelWord:
    """A word such as ``k=8`` between the source and the method of a label, as far as it is known.

    Attributes
    ----------
    start
        What the word begins with, e.g. ``"k="``.
    ends
        What may follow.
    characters
        Those of which one or more may follow instead.
    """

    start: str
    ends: tuple[str, ...] = ()
    characters: str = ""


@dataclass(frozen=True)
class LabelPattern:
    """A shell pattern that a task's label, or a part of it, has to match.

    Examples
    --------
    >>> LabelPattern("resnet50*share").matches("onnx-light/resnet50 k=8 share")
    True
    """

    text: str

    def matches(self, label: str) -> bool:
        """Whether a label matches, or contains, the pattern."""
        return fnmatchcase(label, self.text) or fnmatchcase(label, f"*{self.text}*")

    def may_match(self, source: str, words: Sequence[LabelWord], method: str) -> bool:
        """Whether the label of a task can match whose instance is not loaded yet."""
        positions = self._after(self._with_skipped(1), source)
        while positions:
            more = positions
            for word in words:
                started = self._after(positions, f" {word.start}")
                more |= self._after_any_number(started, word.characters)
                for end in word.ends:
                    more |= self._after(started, end)
            if more == positions:
                break
            positions = more
        return bool(self._after(positions, f" {method}") >> len(self._tokens))

    # Sets of positions in the pattern are bits of an integer: bit i stands for "the text so far
    # matches the first i tokens".

    @cached_property
    def _tokens(self) -> tuple[str, ...]:
        # An unclosed bracket and one that begins with `]` are read as fnmatch does.
        tokens = re.findall(r"\[!?+\]?+[^\]]*\]|\*+|.", f"*{self.text}*", re.DOTALL)
        return tuple("*" if token.startswith("*") else token for token in tokens)

    @cached_property
    def _stars(self) -> int:
        return sum(1 << i for i, token in enumerate(self._tokens) if token == "*")

    @cached_property
    def _accepting(self) -> dict[str, int]:
        """Positions whose token accepts a character, by character; filled as they come up."""
        return {}

    def _accepts(self, character: str) -> int:
        if character not in self._accepting:
            self._accepting[character] = sum(
                1 << i
                for i, token in enumerate(self._tokens)
                if token != "*" and fnmatchcase(character, token)
            )
        return self._accepting[character]

    def _with_skipped(self, positions: int) -> int:
        """Add the positions behind a `*` that stands for no text."""
        return positions | (positions & self._stars) << 1

    def _after(self, positions: int, text: str) -> int:
        """Return the positions after a text, from some positions."""
        for character in text:
            if not positions:
                break
            moved = (positions & self._accepts(character)) << 1
            positions = self._with_skipped(positions & self._stars | moved)
        return positions

    def _after_any_number(self, positions: int, characters: str) -> int:
        """Return the positions after one or more of some characters, from some positions."""
        reached = 0
        while True:
            more = reached
            for character in characters:
                more |= self._after(positions | reached, character)
            if more == reached:
                return reached
            reached = more


@dataclass(frozen=True)
class LabelPatterns:
    """Shell patterns of which a task's label, or a part of it, has to match one.

    All labels match if there are no patterns.
    """

    patterns: tuple[LabelPattern, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return the patterns that texts state."""
        return cls(tuple(LabelPattern(text) for text in texts))

    def matches(self, label: str) -> bool:
        """Whether a label matches, or contains, one of the patterns."""
        return not self.patterns or any(one.matches(label) for one in self.patterns)

    def may_match(self, source: str, words: Sequence[LabelWord], method: str) -> bool:
        """Whether the label of a task can match; see `LabelPattern.may_match`."""
        return not self.patterns or any(
            one.may_match(source, words, method) for one in self.patterns
        )


ALL_LABELS = LabelPatterns()
